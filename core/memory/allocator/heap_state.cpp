// SPDX-License-Identifier: Apache-2.0
#include "memory/allocator/heap_state.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace anyplace::detail {

HeapState::HeapState(StatTable& stats_in, const HeapOptions& options_in, std::uint64_t page_bytes)
    : stats(stats_in), options(options_in), page(page_bytes) {
  if (page != 0) page_shift = static_cast<unsigned>(std::countr_zero(page));
  if (options.max_split_bytes != UINT64_MAX) {
    stats.max_split_size = static_cast<std::int64_t>(options.max_split_bytes);
  }
}

// -- Blocks ----------------------------------------------------------------------------------------------------------

/// The bytes of a free block that can't go back to the source, because their page or segment is shared with blocks in
/// use.
std::int64_t HeapState::stuck_bytes(const Block* block) const noexcept {
  if (page == 0) return is_whole(block) ? 0 : static_cast<std::int64_t>(block->bytes);
  std::uint64_t first = 0;
  return static_cast<std::int64_t>(block->bytes - (whole_pages_in(block, &first) << page_shift));
}

void HeapState::settle(bool small) noexcept {
  if (split_count != 0) stats.add(StatKind::inactive_split, small, split_count);
  if (split_bytes != 0) stats.add(StatKind::inactive_split_bytes, small, split_bytes);
  split_count = split_bytes = 0;
}

void HeapState::add_free(Block* block) noexcept {
  if (!block->backed) {
    block->arena->unbacked.insert(block);
    return;
  }
  const std::int64_t stuck = stuck_bytes(block);
  split_count += stuck != 0 ? 1 : 0;
  split_bytes += stuck;
  block->arena->cached_bytes += block->bytes;
  block->arena->cached.insert(block);
}

void HeapState::remove_free(Block* block) noexcept {
  if (!block->backed) {
    block->arena->unbacked.remove(block);
    return;
  }
  const std::int64_t stuck = stuck_bytes(block);
  split_count -= stuck != 0 ? 1 : 0;
  split_bytes -= stuck;
  block->arena->cached_bytes -= block->bytes;
  block->arena->cached.remove(block);
}

Block* HeapState::split_after(Block* block, std::uint64_t bytes) noexcept {
  assert(bytes > 0 && bytes < block->bytes);
  Block* rest = store.get();
  rest->address = block->address + bytes;
  rest->bytes = block->bytes - bytes;
  rest->requested.store(0, std::memory_order_relaxed);
  rest->small = block->small;
  rest->arena = block->arena;
  rest->segment = block->segment;
  rest->stream = block->stream;
  rest->backed = block->backed;
  rest->freed_at = block->freed_at;
  rest->before = block;
  rest->after = block->after;
  if (rest->after != nullptr) rest->after->before = rest;
  rest->use.store(BlockUse::free, std::memory_order_relaxed);
  block->after = rest;
  block->bytes = bytes;
  return rest;
}

Block* HeapState::join(Block* block, Block* after) noexcept {
  block->bytes += after->bytes;
  block->freed_at = std::max(block->freed_at, after->freed_at);
  block->after = after->after;
  if (block->after != nullptr) block->after->before = block;
  store.put(after);
  return block;
}

Block* HeapState::free_and_join(Block* block) noexcept {
  if (is_free(block->before) && block->before->backed == block->backed) {
    Block* before = block->before;
    remove_free(before);
    block = join(before, block);
  }
  if (is_free(block->after) && block->after->backed == block->backed) {
    remove_free(block->after);
    block = join(block, block->after);
  }
  add_free(block);
  return block;
}

Block* HeapState::cut_out(Block* block, anyplace_address begin, std::uint64_t bytes) noexcept {
  if (begin > block->address) {
    Block* const rest = split_after(block, begin - block->address);
    add_free(block);
    block = rest;
  }
  if (block->bytes > bytes) add_free(split_after(block, bytes));
  return block;
}

Block* HeapState::carve(Block* block, anyplace_address begin, std::uint64_t bytes) {
  assert(block->backed && begin >= block->address && begin + bytes <= end_of(block));
  store.ensure(2);
  index.prepare(begin);
  remove_free(block);
  block = cut_out(block, begin, bytes);
  block->stream = block->arena->key.stream;
  block->requested.store(0, std::memory_order_relaxed);
  block->next = nullptr;
  ++block->arena->handed_out;
  usage.hand_out(block->bytes);
  block->use.store(BlockUse::taken, std::memory_order_release);
  index.set(begin, block);
  return block;
}

void HeapState::give(Block* block) noexcept {
  index.clear(block->address);
  --block->arena->handed_out;
  usage.take_back(block->bytes);
  block->requested.store(0, std::memory_order_relaxed);
  block->next = nullptr;
  block->freed_at = clock;
  block->use.store(BlockUse::free, std::memory_order_release);
  free_and_join(block);
}

// -- Arenas and pools ------------------------------------------------------------------------------------------------

PoolTotals& HeapState::pool_of(std::uint64_t pool) {
  const auto found = pools.find(pool);
  if (found != pools.end()) return *found->second;
  return *pools.emplace(pool, std::make_unique<PoolTotals>()).first->second;
}

void HeapState::forget_pool(std::uint64_t pool) noexcept {
  const auto found = pools.find(pool);
  if (found == pools.end() || !found->second->ended) return;
  const auto is_its = [&](const auto& arena) { return arena->pool == found->second.get(); };
  if (std::none_of(arenas.begin(), arenas.end(), is_its)) pools.erase(found);
}

std::uint64_t HeapState::room(const Arena& arena) const noexcept {
  const std::uint64_t here = options.limit > reserved ? options.limit - reserved : 0;
  return std::min(here, arena.pool->room());
}

void HeapState::account(Arena& arena, Segment& segment, std::int64_t bytes) noexcept {
  const bool small = arena.key.small;
  const auto change = static_cast<std::uint64_t>(bytes);  // modulo 2^64
  if (segment.reserved == 0) stats.add(StatKind::segment, small, 1);
  segment.reserved += change;
  if (segment.reserved == 0) stats.add(StatKind::segment, small, -1);
  if (arena.reserved == 0 && !small) ++usage.streams;
  arena.reserved += change;
  if (arena.reserved == 0 && !small) --usage.streams;
  arena.pool->reserved += change;
  reserved += change;
  stats.add(StatKind::reserved_bytes, small, bytes);
}

// -- Segments --------------------------------------------------------------------------------------------------------

/// Makes the only block of a new segment, which is in no index. It needs one block of the store.
Block* HeapState::first_block(Segment& segment, bool backed) noexcept {
  Block* block = store.get();
  block->address = segment.address;
  block->bytes = segment.bytes;
  block->requested.store(0, std::memory_order_relaxed);
  block->small = segment.arena->key.small;
  block->arena = segment.arena;
  block->segment = &segment;
  block->stream = segment.arena->key.stream;
  block->backed = backed;
  block->freed_at = clock;
  block->before = block->after = nullptr;
  block->use.store(BlockUse::free, std::memory_order_relaxed);
  segment.first = block;
  return block;
}

Block* HeapState::add_segment(Arena& arena, anyplace_address address, std::uint64_t bytes, bool backed) {
  auto made = std::make_unique<Segment>();
  Segment& segment = *made;
  segment.arena = &arena;
  segment.address = address;
  segment.bytes = bytes;
  store.ensure(1);
  arena.segments.reserve(arena.segments.size() + 1);
  segments.emplace(address, made.get());
  arena.segments.push_back(std::move(made));
  Block* const block = first_block(segment, backed);
  add_free(block);
  if (backed) account(arena, segment, static_cast<std::int64_t>(bytes));
  return block;
}

void HeapState::remove_segment(Segment* segment) noexcept {
  Arena& arena = *segment->arena;
  remove_free(segment->first);
  store.put(segment->first);
  account(arena, *segment, -static_cast<std::int64_t>(segment->bytes));
  segments.erase(segment->address);
  std::erase_if(arena.segments, [&](const auto& owned) { return owned.get() == segment; });
}

// -- Pages -----------------------------------------------------------------------------------------------------------

std::uint64_t HeapState::whole_pages_in(const Block* block, std::uint64_t* first) const noexcept {
  const std::uint64_t begin = block->address - block->segment->address;
  const std::uint64_t end = begin + block->bytes;
  *first = (begin + page - 1) >> page_shift;
  const std::uint64_t last = end >> page_shift;
  return last > *first ? last - *first : 0;
}

void HeapState::extend_pages(Segment& segment, std::uint64_t count) {
  while (segment.pages.size() < count) {
    Page& made = segment.pages.emplace_back();
    made.segment = &segment;
    made.index = segment.pages.size() - 1;
  }
}

void HeapState::attach(Page& at, Physical* physical) noexcept {
  at.physical = physical;
  at.next = physical->mapped;
  physical->mapped = &at;
  ++pages.mappings;
}

void HeapState::detach(Segment& segment, std::uint64_t first, std::uint64_t count) noexcept {
  for (std::uint64_t i = first; i < first + count; ++i) {
    Page& at = segment.pages[i];
    Page** link = &at.physical->mapped;
    while (*link != &at) link = &(*link)->next;
    *link = at.next;
    at.physical = nullptr;
    at.next = nullptr;
    --pages.mappings;
  }
}

void HeapState::leave(Block* block, std::uint64_t first, std::uint64_t count) noexcept {
  Segment& segment = *block->segment;
  Arena& arena = *block->arena;
  const std::uint64_t bytes = count << page_shift;
  for (std::uint64_t i = first; i < first + count; ++i) segment.pages[i].physical->home = nullptr;
  remove_free(block);
  block = cut_out(block, address_of(segment, first), bytes);
  block->backed = false;
  free_and_join(block);
  account(arena, segment, -static_cast<std::int64_t>(bytes));
  settle(arena.key.small);
}

Block* HeapState::back(Block* hole, std::uint64_t first, std::uint64_t count) noexcept {
  Segment& segment = *hole->segment;
  Arena& arena = *hole->arena;
  const std::uint64_t bytes = count << page_shift;
  for (std::uint64_t i = first; i < first + count; ++i) {
    segment.pages[i].physical->home = &segment.pages[i];
  }
  remove_free(hole);
  hole = cut_out(hole, address_of(segment, first), bytes);
  hole->backed = true;
  hole->freed_at = clock;
  account(arena, segment, static_cast<std::int64_t>(bytes));
  Block* const block = free_and_join(hole);
  settle(arena.key.small);
  return block;
}

void HeapState::spoil(Segment& segment, std::uint64_t first, std::uint64_t count) noexcept {
  const anyplace_address begin = address_of(segment, first);
  Block* hole = segment.first;
  while (end_of(hole) <= begin) hole = hole->after;
  assert(is_free(hole) && !hole->backed);
  remove_free(hole);
  hole = cut_out(hole, begin, count << page_shift);
  hole->use.store(BlockUse::spoilt, std::memory_order_release);
}

}  // namespace anyplace::detail
