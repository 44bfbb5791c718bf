// SPDX-License-Identifier: Apache-2.0
#include "virtual_time.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace anyplace::cpu_sim {

std::int64_t VirtualTime::call_ns() const noexcept {
  // A thread that asks or submits until something has happened waits for time to go on.
  constexpr std::int64_t least_ns = 1;
  return std::max<std::int64_t>(std::llround(profile_->call_ns), least_ns);
}

void VirtualTime::note_submissions(const Operation& stream, std::int64_t now_ns) {
  const std::uint64_t complete = stream.timeline->value();
  const std::uint64_t submitted = complete + stream.left;
  std::deque<Submission>& known = submissions_[stream.timeline];
  while (!known.empty() && known.front().number <= complete) known.pop_front();
  if (stream.left == 0 || (!known.empty() && known.back().number == submitted)) return;
  known.push_back({submitted, now_ns});
}

std::int64_t VirtualTime::ready_ns(const Operation& next) const {
  const auto known = submissions_.find(next.timeline);
  if (known == submissions_.end()) return 0;
  const std::uint64_t number = next.timeline->value() + 1;
  for (const Submission& submission : known->second) {
    if (submission.number >= number) return submission.ns + std::llround(profile_->launch_ns);
  }
  return 0;
}

/// Returns what the model has to know of the operation, which a stream of the device executes.
ModelOperation VirtualTime::model_of(const Operation& operation, std::int32_t device) const {
  using Kind = ModelOperation::Kind;
  ModelOperation made;
  made.device = static_cast<std::uint32_t>(device);
  made.bytes = static_cast<double>(operation.bytes);
  if (operation.goes_on) return made;
  if (operation.kind == Operation::Kind::kernel) {
    const auto known = profile_->kernels.find(operation.kernel);
    const KernelCost& cost = known == profile_->kernels.end() ? profile_->other_kernels : known->second;
    const auto threads = static_cast<double>(operation.threads);
    made.kind = Kind::kernel;
    made.given_ns = cost.launch_ns;
    made.bytes = threads * cost.bytes_per_thread;
    made.flops = threads * cost.flops_per_thread;
  } else if (operation.kind == Operation::Kind::fill) {
    made.kind = Kind::kernel;
  } else if (operation.kind == Operation::Kind::copy) {
    const bool is_from_host = operation.from == Operation::host;
    const bool is_to_host = operation.to == Operation::host;
    if (!is_from_host) made.device = static_cast<std::uint32_t>(operation.from);
    if (is_from_host && !is_to_host) made.device = static_cast<std::uint32_t>(operation.to);
    if (is_to_host) {
      made.kind = Kind::to_host;
    } else if (is_from_host) {
      made.kind = Kind::to_device;
    } else if (operation.from == operation.to) {
      made.kind = Kind::kernel;  // The device's memory is read and written, as by a kernel.
      made.bytes *= 2;
    } else {
      made.kind = Kind::peer;
      made.receiver = static_cast<std::uint32_t>(operation.to);
    }
  }
  return made;
}

void VirtualTime::add(const Task& task, const Operation& operation, unsigned level, std::int64_t now_ns) {
  std::vector<ModelOperation> job;
  for (const Operation& node : operation.nodes) {
    if (operation.goes_on) break;
    job.push_back(model_of(node, operation.device));
    job.back().after = node.after;
  }
  if (job.empty()) job.push_back(model_of(operation, operation.device));
  const auto ready = static_cast<double>(std::max(ready_ns(operation), now_ns));
  for (ModelOperation& each : job) {
    each.level = level;
    each.ready_ns = ready;
  }
  jobs_[&task] = model_.add(std::move(job));
}

std::int64_t VirtualTime::end_ns(const Task& task) { return std::llround(model_.end_ns(jobs_.at(&task))); }

std::int64_t VirtualTime::take(const Task& task) {
  const auto known = jobs_.find(&task);
  const std::vector<ModelTime> times = model_.take(known->second);
  jobs_.erase(known);
  double begin = times.front().end_ns;
  for (const ModelTime& time : times) {
    if (time.end_ns > time.begin_ns) begin = std::min(begin, time.begin_ns);
  }
  return std::llround(begin);
}

}  // namespace anyplace::cpu_sim
