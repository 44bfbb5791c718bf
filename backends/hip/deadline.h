// SPDX-License-Identifier: Apache-2.0
//
// Deadline: a timeout turned into a moment; and asking again and again until then, because HIP has no wait with a
// limit.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "anyplace/backend/abi.h"

namespace anyplace::hip {

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
  /// Nanoseconds, as the entries take them.
  std::uint64_t left() const noexcept {
    if (forever_) return ANYPLACE_FOREVER;
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(at_ - Clock::now()).count();
    return left > 0 ? static_cast<std::uint64_t>(left) : 0;
  }
  bool passed() const noexcept { return !forever_ && Clock::now() >= at_; }

 private:
  bool forever_;
  Clock::time_point at_{};
};

/// Calls `step` until it returns true, less and less often; false when time ran out. It is called at least once.
template <class Step>
bool poll_until(const Deadline& deadline, Step&& step) {
  constexpr std::chrono::nanoseconds longest_pause = std::chrono::microseconds(500);
  std::chrono::nanoseconds pause = std::chrono::microseconds(2);
  while (!step()) {
    if (deadline.passed()) return false;
    auto until = Deadline::Clock::now() + pause;
    if (!deadline.forever()) until = std::min(until, deadline.at());
    std::this_thread::sleep_until(until);
    pause = std::min(pause * 2, longest_pause);
  }
  return true;
}

}  // namespace anyplace::hip
