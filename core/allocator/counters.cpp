// SPDX-License-Identifier: Apache-2.0
#include "counters.h"

#include <algorithm>

namespace anyplace::detail {
namespace {

/// Which of the books each figure counts in: a block in a bin is neither allocated nor active.
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

void HitCounters::add_peaks(std::array<HitFigures, stat_pools>& peaks) const noexcept {
  for (std::size_t i = 0; i < hit_figures; ++i) {
    peaks[static_cast<std::size_t>(StatPool::all)][i] += peak_[i].load(std::memory_order_relaxed);
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      peaks[static_cast<std::size_t>(pool_of_class[c])][i] += classes_[c].peak[i].load(std::memory_order_relaxed);
    }
  }
}

void HitCounters::move_to(StatTable& stats) noexcept {
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    Class& from = classes_[c];
    for (std::size_t i = 0; i < hit_figures; ++i) {
      const std::int64_t allocated = from.allocated[i].load(std::memory_order_relaxed);
      const std::int64_t freed = allocated - from.current[i].load(std::memory_order_relaxed);
      from.allocated[i].store(0, std::memory_order_relaxed);
      from.current[i].store(0, std::memory_order_relaxed);
      from.peak[i].store(0, std::memory_order_relaxed);
      if (allocated == 0 && freed == 0) continue;
      for (std::size_t k = 0; k < kinds_of[i].count; ++k) {
        add_to(stats.at(kinds_of[i].kinds[k], StatPool::all), allocated, freed);
        add_to(stats.at(kinds_of[i].kinds[k], pool_of_class[c]), allocated, freed);
      }
    }
  }
  for (Figure& peak : peak_) peak.store(0, std::memory_order_relaxed);
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
