// SPDX-License-Identifier: Apache-2.0
// Snapshots as structures. figures/snapshot.cpp writes them as text.
#include <chrono>
#include <utility>

#include "anyplace/memory_stats.h"
#include "memory/allocator/device_allocator.h"
#include "memory/figures/statistics.h"
#include "runtime/backend.h"
#include "runtime/call.h"

namespace anyplace {

namespace {

using Action = MemoryEvent::Action;
using detail::TraceAction;
static_assert(static_cast<int>(Action::alloc) == static_cast<int>(TraceAction::alloc) &&
              static_cast<int>(Action::segment_unmap) == static_cast<int>(TraceAction::segment_unmap) &&
              static_cast<int>(Action::oom) == static_cast<int>(TraceAction::oom));

MemoryBlock::State state_of(detail::SnapshotBlockState state) noexcept {
  switch (state) {
    case detail::SnapshotBlockState::active_allocated:
      return MemoryBlock::State::allocated;
    case detail::SnapshotBlockState::active_pending_free:
      return MemoryBlock::State::pending_free;
    case detail::SnapshotBlockState::inactive:
      break;
  }
  return MemoryBlock::State::free;
}

/// `null_stream` is the null stream's id, which becomes 0.
MemorySegment segment_of(const detail::SnapshotSegment& from, std::uint64_t null_stream) {
  MemorySegment to;
  to.address = from.address;
  to.size_bytes = from.total_bytes;
  to.stream_id = from.stream == null_stream ? 0 : from.stream;
  to.pool_id = from.pool;
  to.small = from.small;
  to.expandable = from.expandable;
  to.blocks.reserve(from.blocks.size());
  for (const detail::SnapshotBlock& block : from.blocks) {
    to.blocks.push_back({block.address, block.bytes, block.requested, state_of(block.state)});
  }
  return to;
}

MemoryEvent event_of(const detail::TraceEntry& from, std::uint64_t null_stream) {
  MemoryEvent to;
  to.action = static_cast<Action>(from.action);
  to.size_bytes = from.bytes;
  to.stream_id = from.stream == null_stream ? 0 : from.stream;
  to.pool_id = from.pool;
  to.time = std::chrono::system_clock::time_point(std::chrono::microseconds(from.time_us));
  if (from.action != TraceAction::oom) {
    to.address = from.address;
  } else if (from.address != UINT64_MAX) {
    to.device_free_bytes = from.address;
  }
  return to;
}

}  // namespace

const char* to_string(MemoryEvent::Action action) noexcept {
  switch (action) {
    case Action::alloc:
      return "alloc";
    case Action::free_requested:
      return "free_requested";
    case Action::free_completed:
      return "free_completed";
    case Action::segment_alloc:
      return "segment_alloc";
    case Action::segment_free:
      return "segment_free";
    case Action::segment_map:
      return "segment_map";
    case Action::segment_unmap:
      return "segment_unmap";
    case Action::snapshot:
      return "snapshot";
    case Action::oom:
      return "oom";
  }
  return "unknown";
}

const char* to_string(MemoryBlock::State state) noexcept {
  switch (state) {
    case MemoryBlock::State::allocated:
      return "allocated";
    case MemoryBlock::State::pending_free:
      return "pending_free";
    case MemoryBlock::State::free:
      return "free";
  }
  return "unknown";
}

MemorySnapshot memory_snapshot(const Device& device) {
  detail::enter("memory_snapshot");
  const detail::Snapshot from = device.state()->allocator->snapshot();
  const std::uint64_t null_stream = device.state()->default_stream_id.load(std::memory_order_relaxed);
  MemorySnapshot to;
  to.segments.reserve(from.segments.size());
  for (const detail::SnapshotSegment& segment : from.segments) to.segments.push_back(segment_of(segment, null_stream));
  to.history.reserve(from.history.size());
  for (const detail::TraceEntry& entry : from.history) to.history.push_back(event_of(entry, null_stream));
  to.max_history_entries = from.history_limit;
  to.history_overflowed = from.history_overflowed;
  return to;
}

}  // namespace anyplace
