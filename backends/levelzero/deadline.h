// SPDX-License-Identifier: Apache-2.0
//
// Deadline: a timeout turned into a moment.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "anyplace/backend/abi.h"

namespace anyplace::levelzero {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(std::uint64_t timeout_ns) noexcept : forever_(timeout_ns == ANYPLACE_FOREVER) {
    // Longer than a century is the end of the clock, not a wrap to the past.
    constexpr std::uint64_t longest = 100ull * 365 * 24 * 3600 * 1'000'000'000;
    if (!forever_) at_ = Clock::now() + std::chrono::nanoseconds(std::min(timeout_ns, longest));
  }

  bool forever() const noexcept { return forever_; }
  /// 0 when time has run out; at most `longest`.
  std::chrono::nanoseconds left(std::chrono::nanoseconds longest) const noexcept {
    if (forever_) return longest;
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(at_ - Clock::now());
    return std::clamp(left, std::chrono::nanoseconds(0), longest);
  }
  /// As the entries take it.
  std::uint64_t left_ns() const noexcept {
    return forever_ ? ANYPLACE_FOREVER : static_cast<std::uint64_t>(left(std::chrono::nanoseconds::max()).count());
  }

 private:
  bool forever_;
  Clock::time_point at_{};
};

}  // namespace anyplace::levelzero
