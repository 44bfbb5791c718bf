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
    Class& own = classes_[small ? 1 : 0];
    const Class& other = classes_[small ? 0 : 1];
    const HitFigures amounts{1, static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(requested)};
    for (std::size_t i = 0; i < hit_figures; ++i) {
      add(own.allocated[i], amounts[i]);
      const std::int64_t now = add(own.current[i], amounts[i]);
      raise(own.peak[i], now);
      raise(peak_[i], now + other.current[i].load(std::memory_order_relaxed));
    }
  }
  void freed(bool small, std::uint64_t bytes, std::uint64_t requested) noexcept {
    Class& own = classes_[small ? 1 : 0];
    add(own.current[0], -1);
    add(own.current[1], -static_cast<std::int64_t>(bytes));
    add(own.current[2], -static_cast<std::int64_t>(requested));
  }

  // -- Under the allocator's lock.
  /// Adds the maxima to what other threads' came to: [all, large, small].
  void add_peaks(std::array<HitFigures, stat_pools>& peaks) const noexcept;
  /// Adds everything to the books and starts from nothing. The thread is not at it. The peaks were looked at before.
  void move_to(StatTable& stats) noexcept;

 private:
  using Figure = std::atomic<std::int64_t>;
  struct Class {
    std::array<Figure, hit_figures> current{};
    std::array<Figure, hit_figures> peak{};
    std::array<Figure, hit_figures> allocated{};
  };

  /// One thread writes: no locked instruction.
  static std::int64_t add(Figure& figure, std::int64_t amount) noexcept {
    const std::int64_t sum = figure.load(std::memory_order_relaxed) + amount;
    figure.store(sum, std::memory_order_relaxed);
    return sum;
  }
  static void raise(Figure& peak, std::int64_t now) noexcept {
    if (now > peak.load(std::memory_order_relaxed)) peak.store(now, std::memory_order_relaxed);
  }

  std::array<Class, 2> classes_{};  ///< large, small
  std::array<Figure, hit_figures> peak_{};
};

/// The peaks of the books, given the sums of all threads' maxima.
void raise_peaks(StatTable& stats, const std::array<HitFigures, stat_pools>& peaks) noexcept;

}  // namespace anyplace::detail
