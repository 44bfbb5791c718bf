// SPDX-License-Identifier: Apache-2.0
//
// This header has the monotonic clock of all simulated devices, and deadlines.
#pragma once

#include <anyplace/backend/abi.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace anyplace::cpu_sim {

using Clock = std::chrono::steady_clock;

inline std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

/// A Deadline is the end of a wait. ANYPLACE_FOREVER, and everything past the clock's range, never comes.
class Deadline {
 public:
  static Deadline never() noexcept { return Deadline(); }
  static Deadline after(std::uint64_t timeout_ns) noexcept {
    Deadline deadline;
    deadline.timeout_ns_ = timeout_ns;
    if (timeout_ns == 0) {
      deadline.poll_ = true;
      return deadline;
    }
    const Clock::time_point now = Clock::now();
    const auto room = static_cast<std::uint64_t>((Clock::time_point::max() - now).count());
    if (timeout_ns < room) {
      deadline.forever_ = false;
      deadline.at_ = now + std::chrono::nanoseconds(static_cast<std::int64_t>(timeout_ns));
    }
    return deadline;
  }

  /// Returns whether the caller only wants to look and not to wait.
  bool poll() const noexcept { return poll_; }

  /// Returns the nanoseconds from its making to its end: 0 for a caller that only wants to look.
  std::uint64_t timeout_ns() const noexcept { return timeout_ns_; }

  bool forever() const noexcept { return forever_ && !poll_; }

  /// Returns the nanoseconds that are left: 0 once the deadline has passed, INT64_MAX if there is none.
  std::int64_t left_ns() const noexcept {
    if (poll_) return 0;
    if (forever_) return INT64_MAX;
    const Clock::time_point now = Clock::now();
    return now < at_ ? std::chrono::duration_cast<std::chrono::nanoseconds>(at_ - now).count() : 0;
  }

  /// Waits until `ready()` holds, under `lock`. Returns false when time ran out first.
  template <class Ready>
  bool wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Ready ready) const {
    if (poll_) return ready();
    if (!forever_) return changed.wait_until(lock, at_, ready);
    changed.wait(lock, ready);
    return true;
  }

 private:
  bool poll_ = false;
  bool forever_ = true;
  std::uint64_t timeout_ns_ = UINT64_MAX;
  Clock::time_point at_{};
};

}  // namespace anyplace::cpu_sim
