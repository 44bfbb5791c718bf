// SPDX-License-Identifier: Apache-2.0
#include "null_rule.h"

#include <algorithm>

#include "stream.h"

namespace opencl_backend {

void NullRule::add(Stream& stream) {
  const std::lock_guard lock(mutex_);
  if (stream.kind() == StreamKind::null) null_ = &stream;
  if (stream.kind() == StreamKind::blocking) blocking_.push_back(&stream);
}

void NullRule::remove(Stream& stream) noexcept {
  if (stream.kind() == StreamKind::independent) return;
  const std::lock_guard lock(mutex_);
  blocking_.erase(std::remove(blocking_.begin(), blocking_.end(), &stream), blocking_.end());
}

std::unique_lock<std::mutex> NullRule::enter(Stream& stream) {
  if (stream.kind() == StreamKind::independent) return {};
  std::unique_lock lock(mutex_);
  if (stream.kind() == StreamKind::null) {
    order_null();
  } else if (null_ != nullptr) {
    order_blocking(stream);
  }
  return lock;
}

void NullRule::order_null() {
  std::vector<EventRef> waits;
  for (Stream* const stream : blocking_) {
    Record last = stream->last();
    if (!last.event || last.number <= stream->null_rule_member.null_waits_until) continue;
    waits.push_back(std::move(last.event));
    stream->null_rule_member.null_waits_until = last.number;
  }
  if (!waits.empty()) null_->wait_past_rule(waits);
}

void NullRule::order_blocking(Stream& stream) {
  Record last = null_->last();
  if (!last.event || last.number <= stream.null_rule_member.waits_until) return;
  stream.wait_past_rule({std::move(last.event)});
  stream.null_rule_member.waits_until = last.number;
}

}  // namespace opencl_backend
