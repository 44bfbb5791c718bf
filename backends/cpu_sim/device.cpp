// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <utility>
#include <vector>

#include "stream.h"
#include "wait.h"

namespace anyplace::cpu_sim {

void Device::add(Stream& stream) {
  std::lock_guard lock(mutex_);
  streams_.push_back(stream.in_device_);
}

void Device::remove(Stream& stream) noexcept {
  std::lock_guard lock(mutex_);
  stream.in_device_.unlink();
  stream.in_pending_.unlink();
}

void Device::order_after_null_rule(Stream& stream) {
  const auto wait_for = [&stream](const Stream& other, uint64_t target) {
    if (!other.timeline()->reached(target)) {
      stream.push<Wait>(
          0, [](Wait&, void*) {}, Ref<Timeline>(other.timeline()), target);
    }
  };
  if (stream.rule_ == Rule::kNull) {
    // A stream leaves the list only once it is waited for, so that a failure on the way forgets none.
    while (!pending_.empty()) {
      Stream& blocking = *pending_.begin()->owner();
      wait_for(blocking, blocking.submitted());
      blocking.in_pending_.unlink();
    }
    return;
  }
  if (const Stream* null = null_.load(std::memory_order_acquire)) {
    const uint64_t target = null->submitted();
    if (target > stream.null_seen_) wait_for(*null, target);
    stream.null_seen_ = target;
  }
  if (!stream.in_pending_.linked()) pending_.push_back(stream.in_pending_);
}

bool Device::synchronize(const Deadline& deadline) {
  std::vector<std::pair<Ref<Timeline>, uint64_t>> unfinished;
  {
    std::lock_guard lock(mutex_);
    for (Link<Stream>* link = streams_.begin(); link != streams_.end(); link = link->next()) {
      const Stream& stream = *link->owner();
      const uint64_t target = stream.submitted();
      if (!stream.timeline()->reached(target)) unfinished.emplace_back(stream.timeline(), target);
    }
  }
  for (const auto& [timeline, target] : unfinished) {
    if (!timeline->wait(target, deadline)) return false;
  }
  return true;
}

}  // namespace anyplace::cpu_sim
