// SPDX-License-Identifier: Apache-2.0
// A snapshot made by hand, with the history that led to it.
#pragma once

#include <cstdint>
#include <string>

#include "memory/figures/statistics.h"

namespace snapshot_check {

using anyplace::detail::Snapshot;
using anyplace::detail::SnapshotBlock;
using anyplace::detail::SnapshotBlockState;
using anyplace::detail::SnapshotSegment;
using anyplace::detail::StatKind;
using anyplace::detail::TraceAction;
using anyplace::detail::TraceEntry;

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
/// Some vendors' addresses are beyond what a signed number holds.
constexpr std::uint64_t high_address = 0xff00'0000'0020'0000;
constexpr std::uint64_t page_address = 0x7f12'3440'0000;
constexpr std::uint64_t stream = 77;

/// The statistics that the segments come to.
inline void set_stats(Snapshot& snapshot) {
  snapshot.stats = {};
  for (const SnapshotSegment& segment : snapshot.segments) {
    const auto add = [&](StatKind kind, std::uint64_t amount) {
      snapshot.stats.add(kind, segment.small, static_cast<std::int64_t>(amount));
    };
    add(StatKind::segment, 1);
    add(StatKind::reserved_bytes, segment.total_bytes);
    for (const SnapshotBlock& block : segment.blocks) {
      if (block.state == SnapshotBlockState::inactive) continue;
      add(StatKind::active, 1);
      add(StatKind::active_bytes, block.bytes);
      add(StatKind::requested_bytes, block.requested);
      if (block.state != SnapshotBlockState::active_allocated) continue;
      add(StatKind::allocation, 1);
      add(StatKind::allocated_bytes, block.bytes);
    }
  }
}

/// Device 2: a small segment with a block in use, one pending and a free rest; and three pages of a large one, of which
/// the middle one was given back.
inline Snapshot made_snapshot() {
  using State = SnapshotBlockState;
  Snapshot snapshot;
  snapshot.place = "levelzero:2";
  snapshot.device = 2;
  snapshot.config = "caching:true,history:true";
  snapshot.history_limit = 1000;
  snapshot.segments.push_back({2,
                               high_address,
                               2 * mib,
                               0,
                               true,
                               false,
                               0,
                               {{high_address, 512, 100, State::active_allocated},
                                {high_address + 512, 512, 300, State::active_pending_free},
                                {high_address + 1024, 2 * mib - 1024, 0, State::inactive}}});
  snapshot.segments.push_back({2,
                               page_address,
                               2 * mib,
                               stream,
                               false,
                               true,
                               3,
                               {{page_address, 2 * mib, 2'000'000, State::active_allocated}}});
  snapshot.segments.push_back({2,
                               page_address + 4 * mib,
                               2 * mib,
                               stream,
                               false,
                               true,
                               3,
                               {{page_address + 4 * mib, 2 * mib, 2 * mib, State::active_allocated}}});
  set_stats(snapshot);

  std::uint64_t time = 1'700'000'000'000'000;
  const auto note = [&](TraceAction action, std::uint64_t address, std::uint64_t bytes, std::uint64_t on = 0,
                        std::uint64_t pool = 0) {
    snapshot.history.push_back({action, address, bytes, on, ++time, pool});
  };
  note(TraceAction::segment_alloc, high_address, 2 * mib);
  note(TraceAction::alloc, high_address, 100);
  note(TraceAction::alloc, high_address + 512, 1000);
  note(TraceAction::free_requested, high_address + 512, 1000);
  note(TraceAction::free_completed, high_address + 512, 1000);
  note(TraceAction::alloc, high_address + 512, 300);
  note(TraceAction::segment_map, page_address, 6 * mib, stream, 3);
  note(TraceAction::alloc, page_address, 2'000'000, stream, 3);
  note(TraceAction::alloc, page_address + 2 * mib, 4 * kib, stream, 3);
  note(TraceAction::alloc, page_address + 4 * mib, 2 * mib, stream, 3);
  note(TraceAction::oom, UINT64_MAX, std::uint64_t{1} << 62, stream, 3);
  note(TraceAction::oom, 12'345, std::uint64_t{1} << 40, stream, 3);
  note(TraceAction::free_requested, page_address + 2 * mib, 4 * kib, stream, 3);
  note(TraceAction::free_requested, high_address + 512, 300);
  note(TraceAction::free_completed, page_address + 2 * mib, 4 * kib, stream, 3);
  note(TraceAction::segment_unmap, page_address + 2 * mib, 2 * mib, stream, 3);
  note(TraceAction::snapshot, 0, 0);
  return snapshot;
}

}  // namespace snapshot_check
