// SPDX-License-Identifier: Apache-2.0
//
// Deadline: the timeout of an entry, turned into a moment. poll_until(): a wait with a limit, for a vendor that has
// none. Both are thread-safe and allocate nothing.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "../abi.h"

namespace anyplace::backend {

/// The moment at which a wait ends.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;  ///< the clock of all waits: it never goes back

  /// The timeout is in nanoseconds, or ANYPLACE_FOREVER.
  explicit Deadline(std::uint64_t timeout_ns) noexcept : forever_(timeout_ns == ANYPLACE_FOREVER) {
    // A timeout of more than a century is cut, because the clock would wrap to the past.
    constexpr std::uint64_t longest = 100ull * 365 * 24 * 3600 * 1'000'000'000;
    if (!forever_) at_ = Clock::now() + std::chrono::nanoseconds(std::min(timeout_ns, longest));
  }

  /// Whether the wait has no end.
  bool forever() const noexcept { return forever_; }
  /// Whether the moment has come.
  bool passed() const noexcept { return !forever_ && Clock::now() >= at_; }
  /// Must not be called if forever().
  Clock::time_point at() const noexcept { return at_; }
  /// The time that is left, at most `longest`; 0 when it has run out.
  std::chrono::nanoseconds left(std::chrono::nanoseconds longest) const noexcept {
    if (forever_) return longest;
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(at_ - Clock::now());
    return std::clamp(left, std::chrono::nanoseconds(0), longest);
  }
  /// The time that is left in nanoseconds, as the entries take it.
  std::uint64_t left() const noexcept {
    return forever_ ? ANYPLACE_FOREVER : static_cast<std::uint64_t>(left(std::chrono::nanoseconds::max()).count());
  }

 private:
  bool forever_;
  Clock::time_point at_{};
};

/// Calls `step` until it returns true, less and less often, and at least once. Returns false when time ran out.
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

}  // namespace anyplace::backend
