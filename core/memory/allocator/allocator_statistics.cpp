// SPDX-License-Identifier: Apache-2.0
//
// The statistics of a device's allocator, and its pools. Figures are exact, because the bins are emptied first.
#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "memory/allocator/device_allocator_state.h"
#include "memory/deferred_free.h"
#include "streams/stream_state.h"

namespace anyplace::detail {

void DeviceAllocator::State::look_at_counters() noexcept {
  std::array<HitFigures, stat_pools> peaks{};
  bool any = false;
  for (const ThreadBins* bins = all_bins; bins != nullptr; bins = bins->next) {
    any = (bins->taken && bins->counters.add_peaks(peaks)) || any;
  }
  if (any) raise_peaks(stats, peaks);
  if (ThreadBins* const own = own_bins(number)) {
    if (own->is_unfenced()) reclaim(*own);
    own->counters.move_to(stats);
  }
}

// ---- Events that change a block's statistics -----------------------------------------------------------------------

void DeviceAllocator::State::count_allocation(Block* block, std::uint64_t requested) noexcept {
  note_span(*block);
  block->requested.store(requested, std::memory_order_relaxed);
  block->small = requested <= small_limit;
  block->out.store(block->address, std::memory_order_relaxed);
  const auto bytes = static_cast<std::int64_t>(block->bytes);
  stats.add(StatKind::allocation, block->small, 1);
  stats.add(StatKind::active, block->small, 1);
  stats.add(StatKind::allocated_bytes, block->small, bytes);
  stats.add(StatKind::active_bytes, block->small, bytes);
  stats.add(StatKind::requested_bytes, block->small, static_cast<std::int64_t>(requested));
  if (history.on()) note_block(TraceAction::alloc, *block);
}

void DeviceAllocator::State::count_free_request(Block* block) noexcept {
  block->out.store(Block::not_out, std::memory_order_relaxed);
  block->use.store(BlockUse::pending, std::memory_order_relaxed);
  pending_bytes += block->bytes;
  stats.add(StatKind::allocation, block->small, -1);
  stats.add(StatKind::allocated_bytes, block->small, -static_cast<std::int64_t>(block->bytes));
  if (history.on()) note_block(TraceAction::free_requested, *block);
}

void DeviceAllocator::State::count_free_completion(Block* block) noexcept {
  pending_bytes -= block->bytes;
  stats.add(StatKind::active, block->small, -1);
  stats.add(StatKind::active_bytes, block->small, -static_cast<std::int64_t>(block->bytes));
  stats.add(StatKind::requested_bytes, block->small, -static_cast<std::int64_t>(block->requested));
  if (history.on()) note_block(TraceAction::free_completed, *block);
}

void DeviceAllocator::State::note_block(TraceAction action, Block& block) noexcept {
  history.add({action, block.address, block.requested, block.stream, 0, heap_of(&block).key_of(*block.arena).pool});
}

void DeviceAllocator::State::note(TraceAction action, const ArenaKey& arena, std::uint64_t address,
                                  std::uint64_t bytes) noexcept {
  if (history.on()) history.add({action, address, bytes, arena.stream, 0, arena.pool});
}

// ---- Queries -------------------------------------------------------------------------------------------------------

StatTable DeviceAllocator::stats() {
  const std::lock_guard lock(state_->mutex);
  const Revocation revocation(*state_);
  return state_->stats;
}

Stat DeviceAllocator::total(StatKind kind) {
  const std::lock_guard lock(state_->mutex);
  if (kind == StatKind::reserved_bytes) return state_->stats.at(kind, StatPool::all);  // the bins don't change it
  const ThreadBins* const own = own_bins(state_->number);
  bool others = false;
  for (const ThreadBins* bins = state_->all_bins; bins != nullptr; bins = bins->next) {
    others = others || (bins->taken && bins != own);
  }
  if (others) {
    const Revocation revocation(*state_, Revocation::Bins::left_alone);
  } else {
    state_->look_at_counters();
  }
  return state_->stats.at(kind, StatPool::all);
}

Snapshot DeviceAllocator::snapshot() {
  Snapshot snapshot;
  snapshot.config = config().to_string();
  const std::lock_guard lock(state_->mutex);
  const Revocation revocation(*state_);
  snapshot.place = state_->device.place;
  snapshot.device = state_->device.index;
  snapshot.stats = state_->stats;
  if (state_->memory.heap != nullptr) state_->memory.heap->describe(snapshot.segments);
  for (SnapshotSegment& segment : snapshot.segments) segment.device = state_->device.index;
  snapshot.history = state_->history.entries();
  snapshot.history_limit = state_->history.max_entries();
  snapshot.history_overflowed = state_->history.overflowed();
  return snapshot;
}

void DeviceAllocator::reset_peak() {
  const std::lock_guard lock(state_->mutex);
  const Revocation revocation(*state_);
  for (auto& of_kind : state_->stats.stats) {
    for (Stat& stat : of_kind) stat.reset_peak();
  }
  state_->stats.oversize_allocations.reset_peak();
  state_->stats.oversize_segments.reset_peak();
}

void DeviceAllocator::reset_accumulated() {
  const std::lock_guard lock(state_->mutex);
  const Revocation revocation(*state_);
  StatTable& stats = state_->stats;
  for (auto& of_kind : stats.stats) {
    for (Stat& stat : of_kind) stat.reset_accumulated();
  }
  stats.oversize_allocations.reset_accumulated();
  stats.oversize_segments.reset_accumulated();
  stats.num_alloc_retries = stats.num_ooms = stats.num_sync_all_streams = 0;
  stats.num_device_alloc = stats.num_device_free = 0;
}

void DeviceAllocator::record_history(bool enabled, std::uint64_t max_entries) {
  static_cast<void>(caching("record_memory_history"));
  const std::lock_guard lock(state_->mutex);
  const Revocation revocation(*state_);
  state_->history.start(enabled ? max_entries : 0);
  state_->set_bins_off();
}

void DeviceAllocator::empty_cache() {
  reap_deferred_frees(state_->device);
  const std::lock_guard lock(state_->mutex);
  if (state_->memory.heap == nullptr || state_->closed) return;
  { const Revocation revocation(*state_); }
  state_->settle_streams();
  static_cast<void>(state_->memory.heap->release_free());
}

void DeviceAllocator::set_limit(std::uint64_t bytes) {
  const std::lock_guard lock(state_->mutex);
  state_->limit = bytes;
  if (state_->memory.heap != nullptr) state_->memory.heap->set_limit(bytes);
}

std::uint64_t DeviceAllocator::cached_bytes() {
  const StatTable now = stats();
  return static_cast<std::uint64_t>(now.at(StatKind::reserved_bytes, StatPool::all).current -
                                    now.at(StatKind::active_bytes, StatPool::all).current);
}

std::uint64_t DeviceAllocator::allocated_bytes() {
  return static_cast<std::uint64_t>(stats().at(StatKind::allocated_bytes, StatPool::all).current);
}

// ---- Pools ---------------------------------------------------------------------------------------------------------

std::uint64_t DeviceAllocator::make_pool(std::optional<std::uint64_t> limit) {
  const std::lock_guard lock(state_->mutex);
  const std::uint64_t id = state_->last_pool + 1;
  State::Pool& pool = state_->pools[id];
  pool.limit = limit.value_or(UINT64_MAX);
  if (state_->memory.heap != nullptr && limit) {
    try {
      state_->memory.heap->set_pool_limit(id, pool.limit);
    } catch (...) {
      state_->pools.erase(id);
      throw;
    }
  }
  return state_->last_pool = id;
}

void DeviceAllocator::end_pool(std::uint64_t pool) noexcept {
  const std::lock_guard lock(state_->mutex);
  if (state_->pools.erase(pool) == 0 || state_->memory.heap == nullptr) return;
  state_->end_lines([pool](const Line& line) { return line.pool == pool; });
  if (!state_->closed) static_cast<void>(state_->memory.heap->release_free(pool));
  state_->memory.heap->orphan_pool(pool);
}

std::uint64_t DeviceAllocator::pool_reserved_bytes(std::uint64_t pool) {
  const std::lock_guard lock(state_->mutex);
  return state_->memory.heap == nullptr ? 0 : state_->memory.heap->reserved_bytes(pool);
}

std::uint64_t DeviceAllocator::pool_allocated_bytes(std::uint64_t pool) {
  const std::lock_guard lock(state_->mutex);
  if (state_->memory.heap == nullptr) return 0;
  const Revocation revocation(*state_);
  std::vector<SnapshotSegment> segments;
  state_->memory.heap->describe(segments);
  std::uint64_t bytes = 0;
  for (const SnapshotSegment& segment : segments) {
    if (segment.pool != pool) continue;
    for (const SnapshotBlock& block : segment.blocks) {
      if (block.state == SnapshotBlockState::active_allocated) bytes += block.bytes;
    }
  }
  return bytes;
}

void DeviceAllocator::release_pool(std::uint64_t pool) {
  reap_deferred_frees(state_->device);
  const std::lock_guard lock(state_->mutex);
  if (state_->memory.heap == nullptr || state_->closed) return;
  { const Revocation revocation(*state_); }
  state_->settle_streams();
  static_cast<void>(state_->memory.heap->release_free(pool));
}

}  // namespace anyplace::detail
