// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <vector>

#include "kernel.h"
#include "stream.h"

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
  const auto wait_for = [&stream](Stream& other, std::uint64_t target) {
    if (other.timeline().reached(target)) return;
    stream.push_wait({&other.timeline(), target});
  };
  if (stream.rule_ == Rule::null) {
    // A stream leaves the list only after the wait for it was submitted, so that a failure loses none.
    while (!pending_.empty()) {
      Stream& blocking = *pending_.begin()->owner();
      wait_for(blocking, blocking.submitted());
      blocking.in_pending_.unlink();
    }
    return;
  }
  if (Stream* null = null_.load(std::memory_order_acquire)) {
    const std::uint64_t target = null->submitted();
    if (target > stream.null_seen_) wait_for(*null, target);
    stream.null_seen_ = target;
  }
  if (!stream.in_pending_.linked()) pending_.push_back(stream.in_pending_);
}

void Device::keep_while_queued(const Ref<Kernel>& kernel) noexcept {
  std::lock_guard lock(mutex_);
  for (Link<Stream>* link = streams_.begin(); link != streams_.end(); link = link->next()) {
    link->owner()->keep_while_queued(kernel);
  }
}

void Device::unfinished(std::vector<Record>& out) {
  std::lock_guard lock(mutex_);
  for (Link<Stream>* link = streams_.begin(); link != streams_.end(); link = link->next()) {
    Stream& stream = *link->owner();
    const Record record{&stream.timeline(), stream.submitted()};
    if (!record.complete()) out.push_back(record);
  }
}

}  // namespace anyplace::cpu_sim
