// SPDX-License-Identifier: Apache-2.0
//
// HitCounters: what a thread did in its bins since the allocator last looked. The thread alone writes them, with plain
// stores. They are added to the allocator statistics under the allocator's lock, while the thread is known not to use
// its bins.
//
// Invariant: a total is the statistics' figure plus the sum of all threads' counters. The statistics don't change
// between two looks, so no total in between was above their figure plus the sum of all threads' maxima. That sum is
// what they take for the peak. It is exact with one thread. With several it may be too high, as their maxima were
// reached at different times, but by no more than their bins hold.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "memory/allocator/statistics.h"

namespace anyplace::detail {

/// Blocks, bytes and requested bytes: in this order in every array below.
inline constexpr std::size_t hit_figures = 3;
using HitFigures = std::array<std::int64_t, hit_figures>;

class HitCounters {
 public:
  // -- By the thread, in its bins.
  void allocated(bool small, std::uint64_t bytes, std::uint64_t requested) noexcept {
    const Sums amount{{1, static_cast<std::int64_t>(bytes)}, {static_cast<std::int64_t>(requested), 0}};
    const std::size_t own = small ? 1 : 0;
    allocated_[own] += amount;
    current_[own] += amount;
    all_ += amount;
    const Sums room = (peaks_[own] - current_[own]) | (peaks_[2] - all_);
    const Pair any = room.first | room.second;
    if ((any[0] | any[1]) < 0) [[unlikely]]  // a sign: one of them is above its peak
      raise(own);
  }
  void freed(bool small, std::uint64_t bytes, std::uint64_t requested) noexcept {
    const Sums amount{{1, static_cast<std::int64_t>(bytes)}, {static_cast<std::int64_t>(requested), 0}};
    current_[small ? 1 : 0] -= amount;
    all_ -= amount;
  }

  // -- Under the allocator's lock.
  /// Adds the maxima to the sums of other threads': [all, large, small]. False if all are 0. The thread may be counting
  /// meanwhile.
  bool add_peaks(std::array<HitFigures, stat_pools>& peaks) const noexcept;
  /// Adds everything to the statistics and starts from nothing. The thread doesn't count meanwhile. The peaks have been
  /// taken before.
  void move_to(StatTable& stats) noexcept;

 private:
  /// Two figures are added at a time, because a hit does little else than to count.
  using Pair = std::int64_t __attribute__((vector_size(16)));
  struct Sums {
    Pair first{};   ///< blocks, bytes
    Pair second{};  ///< requested bytes, nothing

    Sums& operator+=(const Sums& other) noexcept { return *this = {first + other.first, second + other.second}; }
    Sums& operator-=(const Sums& other) noexcept { return *this = *this - other; }
    Sums operator-(const Sums& other) const noexcept { return {first - other.first, second - other.second}; }
    Sums operator|(const Sums& other) const noexcept { return {first | other.first, second | other.second}; }
    std::int64_t at(std::size_t figure) const noexcept { return figure < 2 ? first[figure] : second[0]; }
  };
  bool is_untouched() const noexcept;
  void raise(std::size_t own) noexcept;
  void publish(std::size_t which, const Sums& peak) noexcept;

  std::array<Sums, 2> current_{};    ///< large, small
  std::array<Sums, 2> allocated_{};  ///< large, small
  Sums all_{};
  std::array<Sums, 3> peaks_{};  ///< large, small, all
  /// The same for other threads to read. The thread alone writes it.
  std::array<std::array<std::atomic<std::int64_t>, hit_figures>, 3> public_peaks_{};
  /// Whether one of them may be above 0. Most looks find a thread that hasn't used its bins since the last look.
  std::atomic<bool> raised_{false};
};

/// Raises the peaks of the statistics, given the sums of all threads' maxima.
void raise_peaks(StatTable& stats, const std::array<HitFigures, stat_pools>& peaks) noexcept;

}  // namespace anyplace::detail
