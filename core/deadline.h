// SPDX-License-Identifier: Apache-2.0
// Deadline: a timeout turned into a moment, so that waiting in several steps keeps to one limit.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "anyplace/backend/abi.h"

namespace anyplace::detail {

/// Less than 0 counts as 0; the greatest duration counts as forever.
inline std::uint64_t to_timeout_ns(std::chrono::nanoseconds timeout) noexcept {
  if (timeout == std::chrono::nanoseconds::max()) return ANYPLACE_FOREVER;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(timeout.count(), 0));
}

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(std::uint64_t timeout_ns) noexcept : forever_(timeout_ns == ANYPLACE_FOREVER) {
    // Longer than a century is the end of the clock, not a wrap to the past.
    constexpr std::uint64_t longest = 100ull * 365 * 24 * 3600 * 1'000'000'000;
    if (!forever_) at_ = Clock::now() + std::chrono::nanoseconds(std::min(timeout_ns, longest));
  }

  bool forever() const noexcept { return forever_; }
  /// Meaningless if forever.
  Clock::time_point at() const noexcept { return at_; }
  /// Nanoseconds, as the backend's entries take them.
  std::uint64_t left() const noexcept {
    if (forever_) return ANYPLACE_FOREVER;
    return to_timeout_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(at_ - Clock::now()));
  }
  bool passed() const noexcept { return !forever_ && Clock::now() >= at_; }

 private:
  bool forever_;
  Clock::time_point at_{};
};

/// Calls `step` until it returns true, less and less often; false when time ran out. It is called at least once.
template <class Step>
bool poll_until(const Deadline& deadline, Step&& step) {
  constexpr std::chrono::nanoseconds longest_pause = std::chrono::milliseconds(1);
  std::chrono::nanoseconds pause = std::chrono::microseconds(5);
  while (!step()) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(
        pause, std::chrono::nanoseconds(
                   std::min<std::uint64_t>(deadline.left(), static_cast<std::uint64_t>(longest_pause.count())))));
    pause = std::min(pause * 2, longest_pause);
  }
  return true;
}

/// Waits for the predicate with the lock held in between; false when time ran out and it still doesn't hold.
template <class Condition, class Lock, class Predicate>
bool wait_for_condition(Condition& condition, Lock& lock, const Deadline& deadline, Predicate&& predicate) {
  if (!deadline.forever()) return condition.wait_until(lock, deadline.at(), predicate);
  condition.wait(lock, predicate);
  return true;
}

}  // namespace anyplace::detail
