// SPDX-License-Identifier: Apache-2.0
//
// The heap without virtual memory: segments of fixed size, each one allocation of the source.
#include <algorithm>
#include <new>

#include "heap_state.h"

namespace anyplace::detail {
namespace {

constexpr std::uint64_t mebibyte = 1024 * 1024;

bool is_whole(const Block* block) { return block->before == nullptr && block->after == nullptr; }

}  // namespace

std::uint64_t Heap::State::segment_bytes(bool small, std::uint64_t bytes) noexcept {
  if (small && bytes <= small_limit) return 2 * mebibyte;
  if (bytes < 10 * mebibyte) return 20 * mebibyte;
  return (bytes + 2 * mebibyte - 1) / (2 * mebibyte) * (2 * mebibyte);
}

/// Blocks above max_split_bytes aren't split: they serve requests of about their size only.
Block* Heap::State::fit_classic(Arena& arena, std::uint64_t bytes) const noexcept {
  Block* block = arena.cached.best_fit(bytes);
  if (block == nullptr || options.max_split_bytes == UINT64_MAX) return block;
  if (bytes < options.max_split_bytes) return block->bytes >= options.max_split_bytes ? nullptr : block;
  return block->bytes >= bytes + 20 * mebibyte ? nullptr : block;
}

Block* Heap::State::take_classic(Arena& arena, std::uint64_t bytes, Reach reach) {
  Block* block = fit_classic(arena, bytes);
  if (block == nullptr && reach == Reach::cached) return nullptr;
  if (block == nullptr) {
    const std::uint64_t wanted = segment_bytes(arena.key.small, bytes);
    if (!may_grow(bytes, wanted)) make_room(arena, wanted, false);
    if (reach == Reach::scavenge && room(arena) < wanted) make_room(arena, wanted, true);
    block = add_segment(arena, wanted);
    if (block == nullptr && reach == Reach::scavenge && result == SourceResult::out_of_memory) {
      release(arena.pool->limit != UINT64_MAX ? &arena.key.pool : nullptr);
      block = add_segment(arena, wanted);
    }
    if (block == nullptr) return nullptr;
  }
  const bool whole = block->bytes >= options.max_split_bytes;
  Block* taken = carve(block, block->address, whole ? block->bytes : bytes);
  if (whole) stats.oversize_allocations.add(1);
  return taken;
}

Block* Heap::State::add_segment(Arena& arena, std::uint64_t bytes) {
  result = SourceResult::out_of_memory;
  if (room(arena) < bytes) return nullptr;
  auto segment = std::make_unique<Segment>();
  segment->arena = &arena;
  segment->bytes = bytes;
  store.ensure(3);
  arena.segments.reserve(arena.segments.size() + 1);
  result = source.allocate(bytes, &segment->address);
  if (result != SourceResult::done) return nullptr;
  try {
    segments.emplace(segment->address, segment.get());
  } catch (...) {
    source.free(segment->address, bytes);
    throw;
  }
  Block* block = first_block(*segment, bytes, true);
  add_free(block);
  account(arena, *segment, static_cast<std::int64_t>(bytes));
  ++stats.num_device_alloc;
  if (bytes >= options.max_split_bytes) stats.oversize_segments.add(1);
  user.note(TraceAction::segment_alloc, arena.key, segment->address, bytes);
  arena.segments.push_back(std::move(segment));
  return block;
}

/// Gives a segment back that is one free block.
void Heap::State::drop_segment(Segment* segment) noexcept {
  Arena& arena = *segment->arena;
  remove_free(segment->first);
  store.put(segment->first);
  const anyplace_address address = segment->address;
  const std::uint64_t bytes = segment->bytes;
  account(arena, *segment, -static_cast<std::int64_t>(bytes));
  ++stats.num_device_free;
  if (bytes >= options.max_split_bytes) stats.oversize_segments.add(-1);
  source.free(address, bytes);
  user.note(TraceAction::segment_free, arena.key, address, bytes);
  segments.erase(address);
  std::erase_if(arena.segments, [&](const auto& owned) { return owned.get() == segment; });
}

std::uint64_t Heap::State::release_segments(Arena& arena) noexcept {
  std::uint64_t released = 0;
  for (std::size_t i = arena.segments.size(); i > 0; --i) {
    Segment* segment = arena.segments[i - 1].get();
    if (!is_free(segment->first) || !is_whole(segment->first)) continue;
    released += segment->bytes;
    drop_segment(segment);
  }
  return released;
}

/// Gives back whole free segments of idle arenas, those unused for longest first, until `bytes` more may be had:
/// `everything`, under the limits; otherwise, without reserving more than before.
std::uint64_t Heap::State::make_room(Arena& arena, std::uint64_t bytes, bool everything) noexcept {
  const PoolBooks& pool = *arena.pool;
  const bool own_pool = pool.limit < pool.reserved + bytes;
  std::uint64_t released = 0;
  while (everything ? room(arena) < bytes : released < bytes) {
    Segment* oldest = nullptr;
    for (const auto& other : arenas) {
      if (other->cached_bytes == 0 || (own_pool && other->pool != arena.pool) || !idle(*other)) continue;
      for (const auto& segment : other->segments) {
        if (!is_free(segment->first) || !is_whole(segment->first)) continue;
        if (oldest == nullptr || segment->first->freed_at < oldest->first->freed_at) oldest = segment.get();
      }
    }
    if (oldest == nullptr) break;
    released += oldest->bytes;
    drop_segment(oldest);
  }
  return released;
}

}  // namespace anyplace::detail
