// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include <utility>

#include "device.h"

namespace opencl_backend {

void Event::record(Stream& stream) {
  Record taken = stream.record(timed_);
  const std::lock_guard lock(mutex_);
  std::swap(latest_, taken);
}

Record Event::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

bool Event::query() const {
  const Record record = latest();
  return !record.event || record.stream->is_over(record);
}

bool Event::synchronize(const Deadline& deadline) const {
  const Record record = latest();
  return !record.event || record.stream->wait_until_over(record, deadline);
}

cl_event Event::native() {
  const std::lock_guard lock(mutex_);
  if (latest_.event) return latest_.event.get();
  if (!complete_) {
    complete_ = make_user_event(device_.context());
    open(complete_);
  }
  return complete_.get();
}

std::int64_t Event::nanoseconds() const {
  const Record record = latest();
  if (!record.event) refuse(ANYPLACE_STATUS_NOT_RECORDED, "the event was never recorded");
  return end_of(record.event);
}

}  // namespace opencl_backend
