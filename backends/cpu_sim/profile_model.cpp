// SPDX-License-Identifier: Apache-2.0
#include "profile_model.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace anyplace::cpu_sim {
namespace {

constexpr double ns_per_second = 1e9;
constexpr double never = std::numeric_limits<double>::infinity();
// Times that differ by less are one. It is more than the rounding of a time of hours.
constexpr double instant = 1e-3;

/// Returns the link of a copy. Between devices without a link of their own, a copy goes to the host and on.
ProfileLink link_of(const Profile& profile, ModelOperation::Kind kind) noexcept {
  if (kind == ModelOperation::Kind::to_device) return profile.to_device;
  if (kind == ModelOperation::Kind::to_host) return profile.to_host;
  if (profile.peer.bytes_per_second > 0) return profile.peer;
  const double seconds_per_byte = 1 / profile.to_host.bytes_per_second + 1 / profile.to_device.bytes_per_second;
  return {1 / seconds_per_byte, profile.to_host.latency_ns + profile.to_device.latency_ns};
}

}  // namespace

double kernel_ns(const Profile& profile, double bytes, double flops) noexcept {
  return ns_per_second * std::max(bytes / profile.memory_bytes_per_second, flops / profile.flops_per_second);
}

double copy_ns(const Profile& profile, ModelOperation::Kind kind, double bytes) noexcept {
  const ProfileLink link = link_of(profile, kind);
  return link.latency_ns + ns_per_second * bytes / link.bytes_per_second;
}

// ---- Jobs ----------------------------------------------------------------------------------------------------------

DeviceModel::Job DeviceModel::add(std::vector<ModelOperation> operations) {
  Steps steps;
  for (ModelOperation& operation : operations) {
    const std::size_t own = steps.size();
    for (const std::uint32_t before : operation.after) {
      if (before < own) continue;
      throw std::invalid_argument("operation " + std::to_string(own) + " comes after " + std::to_string(before) +
                                  ", which isn't before it");
    }
    steps.emplace_back();
    steps.back().operation = std::move(operation);
  }
  jobs_.emplace(++last_, std::move(steps));
  ends_.clear();
  return last_;
}

double DeviceModel::end_of(const Steps& steps) noexcept {
  double end = 0;
  for (const Step& step : steps) end = std::max(end, step.time.end_ns);
  return end;
}

double DeviceModel::end_ns(Job job) {
  if (ends_.empty()) {
    DeviceModel future = *this;
    future.advance(never);
    for (const auto& [each, steps] : future.jobs_) ends_[each] = end_of(steps);
  }
  return ends_.at(job);
}

std::vector<ModelTime> DeviceModel::take(Job job) {
  advance(end_ns(job));
  std::vector<ModelTime> times;
  for (const Step& step : jobs_.at(job)) times.push_back(step.time);
  jobs_.erase(job);
  return times;
}

void DeviceModel::advance(double to_ns) {
  if (to_ns < now_) return;
  for (;;) {
    begin_ready();
    set_rates();
    const double next = next_event();
    if (next == never || next > to_ns + instant) break;
    move_to(std::max(next, now_));
  }
  if (to_ns != never) move_to(std::max(to_ns, now_));
}

// ---- Operations ----------------------------------------------------------------------------------------------------

template <class Use>
void DeviceModel::for_each_step(Use use) {
  for (auto& [job, steps] : jobs_) {
    for (Step& step : steps) use(steps, step);
  }
}

/// Returns when the operation could begin, if its engine were idle.
double DeviceModel::ready_ns(const Steps& steps, const Step& step) noexcept {
  double ready = step.operation.ready_ns;
  for (const std::uint32_t before : step.operation.after) {
    ready = std::max(ready, steps[before].done ? steps[before].time.end_ns : never);
  }
  return ready;
}

std::uint32_t DeviceModel::slots(Kind kind) const noexcept {
  if (kind == Kind::nothing) return UINT32_MAX;
  return kind == Kind::kernel ? profile_->concurrent_kernels : profile_->copy_engines;
}

/// Begins what is ready and finds its engine idle.
void DeviceModel::begin_ready() {
  std::map<Engine, std::uint32_t> busy;
  std::vector<std::tuple<unsigned, double, Step*>> ready;
  const auto engine_of = [](const Step& step) { return Engine{step.operation.kind, step.operation.device}; };
  for_each_step([&](const Steps& steps, Step& step) {
    if (step.running) ++busy[engine_of(step)];
    if (step.running || step.done) return;
    if (const double at = ready_ns(steps, step); at <= now_ + instant) {
      ready.emplace_back(step.operation.level, at, &step);
    }
  });
  std::stable_sort(ready.begin(), ready.end(), [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
  });
  for (const auto& [level, at, step] : ready) {
    std::uint32_t& used = busy[engine_of(*step)];
    if (used >= slots(step->operation.kind)) continue;
    ++used;
    begin(*step);
  }
}

void DeviceModel::begin(Step& step) {
  const ModelOperation& operation = step.operation;
  step.running = true;
  step.time.begin_ns = step.begins_moving = now_;
  if (operation.kind == Kind::nothing) return;
  if (operation.kind == Kind::kernel) {
    const double own = kernel_ns(*profile_, operation.bytes, operation.flops);
    step.left = operation.given_ns >= 0 ? operation.given_ns : own;
  } else {
    step.begins_moving += link_of(*profile_, operation.kind).latency_ns;
    step.left = operation.bytes;
  }
}

bool DeviceModel::moves(const Step& step) const noexcept {
  return step.running && step.begins_moving <= now_ + instant;
}

std::vector<DeviceModel::Share> DeviceModel::shares_of(const ModelOperation& operation) const {
  const std::uint32_t link = operation.device / profile_->devices_per_host_link;
  switch (operation.kind) {
    case Kind::nothing:
      return {};
    case Kind::kernel:
      return {{Shared::kernels, operation.device}};
    case Kind::to_device:
      return {{Shared::to_device, link}};
    case Kind::to_host:
      return {{Shared::to_host, link}};
    default:
      return {{Shared::sends, operation.device}, {Shared::receives, operation.receiver}};
  }
}

void DeviceModel::set_rates() {
  std::map<Share, double> users;
  for_each_step([&](const Steps&, Step& step) {
    if (!moves(step)) return;
    for (const Share& share : shares_of(step.operation)) ++users[share];
  });
  for_each_step([&](const Steps&, Step& step) {
    if (!moves(step)) return;
    double most = 1;
    for (const Share& share : shares_of(step.operation)) most = std::max(most, users[share]);
    const bool is_copy = step.operation.kind > Kind::kernel;
    step.rate = (is_copy ? link_of(*profile_, step.operation.kind).bytes_per_second / ns_per_second : 1) / most;
  });
}

double DeviceModel::next_event() {
  double next = never;
  for_each_step([&](const Steps& steps, const Step& step) {
    if (moves(step)) {
      next = std::min(next, now_ + step.left / step.rate);
    } else if (step.running) {
      next = std::min(next, step.begins_moving);
    } else if (!step.done) {
      const double ready = ready_ns(steps, step);
      if (ready > now_ + instant) next = std::min(next, ready);
    }
  });
  return next;
}

/// Moves what runs up to the new time, by the rates of now.
void DeviceModel::move_to(double ns) {
  const double passed = ns - now_;
  for_each_step([&](const Steps&, Step& step) {
    if (step.rate == 0 || step.done) return;
    step.left -= step.rate * passed;
    // Late times are told apart by more than what is left: then it would never be done.
    if (step.left > step.rate * instant && ns + step.left / step.rate > ns) return;
    step.running = false;
    step.done = true;
    step.time.end_ns = ns;
  });
  now_ = ns;
}

}  // namespace anyplace::cpu_sim
