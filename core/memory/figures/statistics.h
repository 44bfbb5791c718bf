// SPDX-License-Identifier: Apache-2.0
//
// The data of allocator statistics and snapshots: counters with torch's meaning, and a snapshot as plain data. The
// public side is in memory_stats.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace anyplace::detail {

struct Stat {
  std::int64_t current = 0;
  std::int64_t peak = 0;
  std::int64_t allocated = 0;  ///< sum of all increases
  std::int64_t freed = 0;      ///< sum of all decreases

  void add(std::int64_t amount) noexcept {
    current += amount;
    if (current > peak) peak = current;
    if (amount > 0) {
      allocated += amount;
    } else {
      freed -= amount;
    }
  }
  void reset_peak() noexcept { peak = current; }
  void reset_accumulated() noexcept { allocated = freed = 0; }
};

enum class StatKind {
  allocation,
  segment,
  active,
  inactive_split,
  allocated_bytes,
  reserved_bytes,
  active_bytes,
  inactive_split_bytes,
  requested_bytes,
};
inline constexpr std::size_t stat_kinds = 9;

enum class StatPool { all, large, small };
inline constexpr std::size_t stat_pools = 3;

struct StatTable {
  std::array<std::array<Stat, stat_pools>, stat_kinds> stats;
  Stat oversize_allocations;
  Stat oversize_segments;
  std::int64_t num_alloc_retries = 0;
  std::int64_t num_ooms = 0;
  std::int64_t num_sync_all_streams = 0;
  std::int64_t num_device_alloc = 0;
  std::int64_t num_device_free = 0;
  std::int64_t max_split_size = -1;  ///< bytes; -1 if there is no limit

  Stat& at(StatKind kind, StatPool pool) noexcept {
    return stats[static_cast<std::size_t>(kind)][static_cast<std::size_t>(pool)];
  }
  const Stat& at(StatKind kind, StatPool pool) const noexcept {
    return stats[static_cast<std::size_t>(kind)][static_cast<std::size_t>(pool)];
  }
  /// Adds to `all`, and to the pool of the block's size.
  void add(StatKind kind, bool small, std::int64_t amount) noexcept {
    at(kind, StatPool::all).add(amount);
    at(kind, small ? StatPool::small : StatPool::large).add(amount);
  }
};

// -- A snapshot is plain data. It is taken under the allocator's lock and written without it.
enum class SnapshotBlockState { active_allocated, active_pending_free, inactive };

struct SnapshotBlock {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t requested = 0;
  SnapshotBlockState state = SnapshotBlockState::inactive;
};

struct SnapshotSegment {
  std::int32_t device = 0;
  std::uint64_t address = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t stream = 0;           ///< 0 for the default stream
  bool small = false;                 ///< segment_type
  bool expandable = false;            ///< whether its pages were mapped one by one
  std::uint64_t pool = 0;             ///< the MemoryPool's number; 0 for the common pool
  std::vector<SnapshotBlock> blocks;  ///< by address, without gaps
};

/// The actions that the history records, with torch's names.
enum class TraceAction {
  alloc,
  free_requested,
  free_completed,
  segment_alloc,
  segment_free,
  segment_map,
  segment_unmap,
  snapshot,
  oom,
};

struct TraceEntry {
  TraceAction action = TraceAction::alloc;
  /// For oom the bytes that the device had free, or UINT64_MAX if unknown.
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stream = 0;
  std::uint64_t time_us = 0;  ///< since the epoch
  std::uint64_t pool = 0;
};

struct Snapshot {
  std::string place;
  std::int32_t device = 0;
  std::vector<SnapshotSegment> segments;
  std::vector<TraceEntry> history;  ///< oldest first; empty when off
  std::uint64_t history_limit = 0;  ///< entries kept at most
  bool history_overflowed = false;  ///< whether older entries were dropped
  StatTable stats;
  std::string config;  ///< in the form of ANYPLACE_ALLOCATOR
};

}  // namespace anyplace::detail
