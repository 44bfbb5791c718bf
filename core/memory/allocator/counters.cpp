// SPDX-License-Identifier: Apache-2.0
#include "memory/allocator/counters.h"

#include <algorithm>

namespace anyplace::detail {
namespace {

/// The statistics that each figure counts in. A block in a bin is neither allocated nor active.
struct Kinds {
  std::array<StatKind, 2> kinds;
  std::size_t count;
};
constexpr std::array<Kinds, hit_figures> kinds_of{{
    {{StatKind::allocation, StatKind::active}, 2},
    {{StatKind::allocated_bytes, StatKind::active_bytes}, 2},
    {{StatKind::requested_bytes, StatKind::requested_bytes}, 1},
}};

constexpr std::array<StatPool, 2> pool_of_class{StatPool::large, StatPool::small};

void add_to(Stat& stat, std::int64_t allocated, std::int64_t freed) noexcept {
  stat.current += allocated - freed;
  stat.allocated += allocated;
  stat.freed += freed;
}

}  // namespace

void HitCounters::publish(std::size_t which, const HitFigures& peak) noexcept {
  peaks_[which] = peak;
  for (std::size_t i = 0; i < hit_figures; ++i) {
    public_peaks_[which][i].store(peak[i], std::memory_order_relaxed);
  }
}

void HitCounters::raise(std::size_t own) noexcept {
  raised_.store(true, std::memory_order_relaxed);
  const auto higher = [](HitFigures a, const HitFigures& b) {
    for (std::size_t i = 0; i < hit_figures; ++i) a[i] = std::max(a[i], b[i]);
    return a;
  };
  publish(own, higher(peaks_[own], current_[own]));
  publish(2, higher(peaks_[2], all_));
}

/// No block was counted, so no byte was either, and no maximum was raised.
bool HitCounters::is_untouched() const noexcept {
  return allocated_[0][0] == 0 && allocated_[1][0] == 0 && current_[0][0] == 0 && current_[1][0] == 0;
}

bool HitCounters::add_peaks(std::array<HitFigures, stat_pools>& peaks) const noexcept {
  if (!raised_.load(std::memory_order_relaxed)) return false;
  constexpr std::array<StatPool, 3> pools{StatPool::large, StatPool::small, StatPool::all};
  for (std::size_t which = 0; which < pools.size(); ++which) {
    for (std::size_t i = 0; i < hit_figures; ++i) {
      peaks[static_cast<std::size_t>(pools[which])][i] += public_peaks_[which][i].load(std::memory_order_relaxed);
    }
  }
  return true;
}

void HitCounters::move_to(StatTable& stats) noexcept {
  if (is_untouched()) return;
  for (std::size_t c = 0; c < current_.size(); ++c) {
    for (std::size_t i = 0; i < hit_figures; ++i) {
      const std::int64_t allocated = allocated_[c][i];
      const std::int64_t freed = allocated - current_[c][i];
      if (allocated == 0 && freed == 0) continue;
      for (std::size_t k = 0; k < kinds_of[i].count; ++k) {
        add_to(stats.at(kinds_of[i].kinds[k], StatPool::all), allocated, freed);
        add_to(stats.at(kinds_of[i].kinds[k], pool_of_class[c]), allocated, freed);
      }
    }
  }
  current_ = {};
  allocated_ = {};
  all_ = {};
  for (std::size_t which = 0; which < peaks_.size(); ++which) publish(which, {});
  raised_.store(false, std::memory_order_relaxed);
}

void raise_peaks(StatTable& stats, const std::array<HitFigures, stat_pools>& peaks) noexcept {
  for (std::size_t i = 0; i < hit_figures; ++i) {
    for (std::size_t k = 0; k < kinds_of[i].count; ++k) {
      for (std::size_t pool = 0; pool < stat_pools; ++pool) {
        Stat& stat = stats.at(kinds_of[i].kinds[k], static_cast<StatPool>(pool));
        stat.peak = std::max(stat.peak, stat.current + peaks[pool][i]);
      }
    }
  }
}

}  // namespace anyplace::detail
