// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include <anyplace/backend/device_backend.h>

#include <utility>

#include "stream.h"

namespace newname_backend {

using anyplace::backend::Failure;

void Event::record(Stream& stream) {
  Record record;
  if (timed_) {
    const auto time = std::make_shared<Clock::time_point>();
    record.point = stream.submit([time] { *time = Clock::now(); });
    record.time = time;
  } else {
    record.point = stream.mark();
  }
  const std::lock_guard lock(mutex_);
  std::swap(latest_, record);
}

Point Event::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_.point;
}

Clock::time_point Event::time() const {
  if (!timed_) throw Failure(ANYPLACE_STATUS_TIMING_DISABLED, "the event was made without timing");
  const std::lock_guard lock(mutex_);
  if (latest_.time == nullptr) throw Failure(ANYPLACE_STATUS_NOT_RECORDED, "the event was never recorded");
  if (!latest_.point.reached()) throw Failure(ANYPLACE_STATUS_NOT_READY, "the event's record is not complete");
  return *latest_.time;
}

double Event::elapsed_milliseconds(const Event& start, const Event& end) {
  return std::chrono::duration<double, std::milli>(end.time() - start.time()).count();
}

}  // namespace newname_backend
