// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <vector>

#include "help.h"
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
  const auto wait_for = [&stream](Stream& other, uint64_t target) {
    if (other.timeline().reached(target)) return;
    stream.push_wait({&other.timeline(), target});
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
  if (Stream* null = null_.load(std::memory_order_acquire)) {
    const uint64_t target = null->submitted();
    if (target > stream.null_seen_) wait_for(*null, target);
    stream.null_seen_ = target;
  }
  if (!stream.in_pending_.linked()) pending_.push_back(stream.in_pending_);
}

void Device::let_go(const Ref<Kernel>& kernel) noexcept {
  std::lock_guard lock(mutex_);
  for (Link<Stream>* link = streams_.begin(); link != streams_.end(); link = link->next()) {
    link->owner()->let_go(kernel);
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

bool Device::synchronize(const Deadline& deadline) {
  std::vector<Record> records;
  unfinished(records);
  return wait_for(records, deadline);
}

}  // namespace anyplace::cpu_sim
