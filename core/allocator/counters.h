// SPDX-License-Identifier: Apache-2.0
//
// HitCounters: what a thread did in its bins since the allocator last looked. Written by the thread alone, with plain
// stores; added to the books under the allocator's lock, where the thread is known not to be at it.
//
// Invariant: total = books + sum of all threads' counters. Between two looks the books stand still, so no total in
// between was above books + sum of all threads' maxima: that is the peak that the books take. With one thread it is
// exact; with several it may be too high by what they did at different times, which is what their bins hold.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "books.h"

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
  /// Adds the maxima to what other threads' came to: [all, large, small]. The thread may be at it.
  void add_peaks(std::array<HitFigures, stat_pools>& peaks) const noexcept;
  /// Adds everything to the books and starts from nothing. The thread is not at it. The peaks were looked at before.
  void move_to(StatTable& stats) noexcept;

 private:
  /// Two at a time: a hit does little else than to count.
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
  void raise(std::size_t own) noexcept;
  void publish(std::size_t which, const Sums& peak) noexcept;

  std::array<Sums, 2> current_{};    ///< large, small
  std::array<Sums, 2> allocated_{};  ///< large, small
  Sums all_{};
  std::array<Sums, 3> peaks_{};  ///< large, small, all
  /// The same for others to read. Written by the thread alone.
  std::array<std::array<std::atomic<std::int64_t>, hit_figures>, 3> public_peaks_{};
};

/// The peaks of the books, given the sums of all threads' maxima.
void raise_peaks(StatTable& stats, const std::array<HitFigures, stat_pools>& peaks) noexcept;

}  // namespace anyplace::detail
