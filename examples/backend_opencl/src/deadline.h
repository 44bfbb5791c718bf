// SPDX-License-Identifier: Apache-2.0
//
// Deadline: until when a call waits. wait_for_event: how it waits for an OpenCL event, which has no wait with a limit
// of its own.
#pragma once

#include <chrono>
#include <cstdint>

#include "opencl.h"

namespace opencl_backend {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  /// ANYPLACE_FOREVER, and whatever the clock can't hold, never runs out.
  explicit Deadline(std::uint64_t timeout_ns) noexcept {
    const Clock::time_point now = Clock::now();
    const auto room = static_cast<std::uint64_t>((Clock::time_point::max() - now).count());
    forever_ = timeout_ns >= room;
    if (!forever_) end_ = now + std::chrono::nanoseconds(timeout_ns);
  }

  bool forever() const noexcept { return forever_; }
  /// 0 when time has run out. Not for one that is forever.
  std::chrono::nanoseconds left() const noexcept {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(end_ - Clock::now());
    return left.count() > 0 ? left : std::chrono::nanoseconds(0);
  }

 private:
  bool forever_ = false;
  Clock::time_point end_{};
};

/// Returns when `event` is complete or failed; false if time ran out first. A limited wait looks again and again, less
/// and less often: OpenCL has no other, and can't be relied on for a callback when the command fails (PoCL 3.1 makes
/// none).
bool wait_for_event(const EventRef& event, const Deadline& deadline);

}  // namespace opencl_backend
