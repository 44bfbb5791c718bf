// SPDX-License-Identifier: Apache-2.0
//
// Event: the most recent record, to be replaced by the next. A record is the OpenCL event of a command, so waits that
// took it keep it, whatever becomes of this object.
#pragma once

#include <cstdint>
#include <mutex>

#include "stream.h"

namespace opencl_backend {

class Event {
 public:
  Event(Device& device, bool timed) : device_(device), timed_(timed) {}
  Event(const Event&) = delete;  // a handle points at it
  Event& operator=(const Event&) = delete;

  void record(Stream& stream);
  Record latest() const;
  bool query() const;
  bool synchronize(const Deadline& deadline) const;
  /// A complete user event where there is no command to show.
  cl_event native();
  /// When the record was reached, by its device's clock. Throws NOT_RECORDED where there is none.
  std::int64_t nanoseconds() const;
  Device& device() const noexcept { return device_; }

 private:
  Device& device_;
  const bool timed_;
  mutable std::mutex mutex_;  // guards all below; a leaf
  Record latest_;
  EventRef complete_;
};

}  // namespace opencl_backend
