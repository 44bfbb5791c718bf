// SPDX-License-Identifier: Apache-2.0
//
// The fast path through a thread's bins: DeviceAllocator's functions that end in _quickly, inlined into their hottest
// callers. A call that is no hit takes the slow path, which also reports errors.
#pragma once

#include "memory/allocator/bins.h"
#include "memory/allocator/device_allocator.h"
#include "streams/stream_state.h"

namespace anyplace::detail {

/// Whether the handle is open, its device works, the process isn't ending, nothing is held back on the stream
/// (slots.h), and the thread may call at all (hazard_pointer.h).
inline bool may_go_quickly(std::uint64_t stream_id) noexcept {
  return call_state.barred == 0 && SlotTable<StreamState>::first_slot(stream_id).is(stream_id);
}

/// Puts the block into the given list of the thread's line. Returns false if the line isn't the block's.
inline bool put_into(ThreadBins& bins, Line& line, SizeBins::List& list, Block* block) noexcept {
  const std::size_t side = line.side_of(block->requested);
  if (line.arenas[side] != block->arena || !line.is_binned(side, list.size)) return false;
  block->out.store(Block::not_out, std::memory_order_relaxed);
  line.bins[side].push(list, block);
  bins.counters.freed(block->small, block->bytes, block->requested);
  return true;
}

inline Block* DeviceAllocator::allocate_quickly(std::uint64_t stream_id, std::uint64_t pool,
                                                std::uint64_t bytes) noexcept {
  ThreadBins* const bins = own_bins(number_);
  if (bins == nullptr || !may_go_quickly(stream_id) || !bins->enter()) [[unlikely]]
    return nullptr;
  Block* block = nullptr;
  if (Line* const line = bins->find(stream_id, pool)) [[likely]] {
    if (SizeBins::List* const list = line->bins[line->side_of(bytes)].find(rounded_size(bytes))) [[likely]] {
      block = SizeBins::pop(*list);
      if (block != nullptr) [[likely]] {
        block->requested.store(bytes, std::memory_order_relaxed);  // find_allocation() may read it meanwhile
        block->out.store(block->address, std::memory_order_relaxed);
        bins->counters.allocated(block->small, block->bytes, bytes);
      }
    }
  }
  bins->leave();
  return block;
}

inline bool DeviceAllocator::free_quickly(std::uint64_t stream_id, std::uint64_t pool, std::uint64_t address,
                                          std::uint64_t bytes) noexcept {
  ThreadBins* const bins = own_bins(number_);
  if (bins == nullptr || !may_go_quickly(stream_id) || !bins->enter()) [[unlikely]]
    return false;
  Line* const line = bins->find(stream_id, pool);
  if (line == nullptr) [[unlikely]] {
    bins->leave();
    return false;
  }
  SizeBins::List& list = line->bins[line->side_of(bytes)].likely(rounded_size(bytes));
  // The block that the list handed out last is tried first: it is the likeliest, and is known before the address was
  // looked up.
  Block* const block = list.last;
  if (block->out.load(std::memory_order_relaxed) == address && address != Block::not_out && block->requested == bytes &&
      block->stream == stream_id && list.size == rounded_size(bytes)) [[likely]] {
    const bool done = put_into(*bins, *line, list, block);
    bins->leave();
    return done;
  }
  return free_in_line(*bins, *line, address, bytes);
}

inline bool DeviceAllocator::free_quickly(std::uint64_t pool, Block* block) noexcept {
  ThreadBins* const bins = own_bins(number_);
  const std::uint64_t stream_id = block->stream;
  if (bins == nullptr || !may_go_quickly(stream_id) || !bins->enter()) [[unlikely]]
    return false;
  Line* const line = bins->find(stream_id, pool);
  SizeBins::List* const list =
      line == nullptr ? nullptr
                      : line->bins[line->side_of(block->requested)].find_or_make(rounded_size(block->requested));
  const bool done = list != nullptr && put_into(*bins, *line, *list, block);
  bins->leave();
  return done;
}

}  // namespace anyplace::detail
