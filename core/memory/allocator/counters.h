// SPDX-License-Identifier: Apache-2.0
//
// HitCounters: counts what a thread did in its bins since the allocator last collected the counters. Only the thread
// writes them, with plain stores. They are added to the allocator statistics under the allocator's lock, while the
// thread is known not to use its bins.
//
// Invariant: a total is the statistics' figure plus the sum of all threads' counters. The statistics don't change
// between two collections, so no total in between was above their figure plus the sum of all threads' maxima, which is
// taken as the peak. It is exact with one thread. With several it may be too high, as their maxima were reached at
// different times, but by no more than their bins hold.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "memory/figures/statistics.h"

namespace anyplace::detail {

/// Every array below has three figures, in this order: blocks, bytes and requested bytes.
inline constexpr std::size_t hit_figures = 3;
using HitFigures = std::array<std::int64_t, hit_figures>;

class HitCounters {
 public:
  // -- Called by the thread while it uses its bins.
  void allocated(bool small, std::uint64_t bytes, std::uint64_t requested) noexcept {
    const HitFigures amount = figures(bytes, requested);
    const std::size_t own = small ? 1 : 0;
    add(allocated_[own], amount);
    add(current_[own], amount);
    add(all_, amount);
    if (is_above(current_[own], peaks_[own]) || is_above(all_, peaks_[2])) [[unlikely]]
      raise(own);
  }
  void freed(bool small, std::uint64_t bytes, std::uint64_t requested) noexcept {
    const HitFigures amount = figures(bytes, requested);
    subtract(current_[small ? 1 : 0], amount);
    subtract(all_, amount);
  }

  // -- Called under the allocator's lock.
  /// Adds the maxima to the sums over the other threads: [all, large, small]. Returns false if all are 0. The thread
  /// may be counting meanwhile.
  bool add_peaks(std::array<HitFigures, stat_pools>& peaks) const noexcept;
  /// Adds everything to the statistics and resets the counters. The thread doesn't count meanwhile, and the peaks were
  /// taken before.
  void move_to(StatTable& stats) noexcept;

 private:
  /// The figures of one block.
  static HitFigures figures(std::uint64_t bytes, std::uint64_t requested) noexcept {
    return {1, static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(requested)};
  }
  static void add(HitFigures& sum, const HitFigures& amount) noexcept {
    for (std::size_t i = 0; i < hit_figures; ++i) sum[i] += amount[i];
  }
  static void subtract(HitFigures& sum, const HitFigures& amount) noexcept {
    for (std::size_t i = 0; i < hit_figures; ++i) sum[i] -= amount[i];
  }
  /// Whether any figure of `sum` is above `peak`.
  static bool is_above(const HitFigures& sum, const HitFigures& peak) noexcept {
    return sum[0] > peak[0] || sum[1] > peak[1] || sum[2] > peak[2];
  }
  bool is_untouched() const noexcept;
  void raise(std::size_t own) noexcept;
  void publish(std::size_t which, const HitFigures& peak) noexcept;

  std::array<HitFigures, 2> current_{};    ///< large, small
  std::array<HitFigures, 2> allocated_{};  ///< large, small
  HitFigures all_{};
  std::array<HitFigures, 3> peaks_{};  ///< large, small, all
  /// A copy of the peaks for other threads to read. Only the owner writes it.
  std::array<std::array<std::atomic<std::int64_t>, hit_figures>, 3> public_peaks_{};
  /// Whether a peak may be above 0. Most threads haven't used their bins since the last collection.
  std::atomic<bool> raised_{false};
};

/// Raises the peaks of the statistics, given the sums of all threads' maxima.
void raise_peaks(StatTable& stats, const std::array<HitFigures, stat_pools>& peaks) noexcept;

}  // namespace anyplace::detail
