// SPDX-License-Identifier: Apache-2.0
//
// What allocator statistics and snapshots are made from: counters with torch's meaning, and a snapshot as plain data.
// memory_stats.h has the public side.
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
  std::int64_t max_split_size = -1;  ///< bytes; -1: no limit

  Stat& at(StatKind kind, StatPool pool) noexcept {
    return stats[static_cast<std::size_t>(kind)][static_cast<std::size_t>(pool)];
  }
  const Stat& at(StatKind kind, StatPool pool) const noexcept {
    return stats[static_cast<std::size_t>(kind)][static_cast<std::size_t>(pool)];
  }
  /// To `all`, and to the pool of its size.
  void add(StatKind kind, bool small, std::int64_t amount) noexcept {
    at(kind, StatPool::all).add(amount);
    at(kind, small ? StatPool::small : StatPool::large).add(amount);
  }
};

// -- A snapshot: plain data, taken under the allocator's lock, written without it.
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
  std::uint64_t stream = 0;           ///< 0: the default stream
  bool small = false;                 ///< segment_type
  bool expandable = false;            ///< its pages were mapped one by one
  std::uint64_t pool = 0;             ///< of a MemoryPool; 0: the common one
  std::vector<SnapshotBlock> blocks;  ///< by address; they tile the segment
};

/// What history records; torch's names.
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
  std::uint64_t address = 0;  ///< oom: the bytes that the device had free, or UINT64_MAX: unknown
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
  bool history_overflowed = false;  ///< older entries were dropped
  StatTable stats;
  std::string config;  ///< as ANYPLACE_ALLOCATOR would say it
};

}  // namespace anyplace::detail
