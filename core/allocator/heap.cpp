// SPDX-License-Identifier: Apache-2.0
#include "heap.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "heap_state.h"

namespace anyplace::detail {
namespace {

// What may be wasted before free memory moves, as parts of the most that was ever handed out; and a part of what has
// been moved so far, up to a limit. A program that uses its memory in waves may waste more, and one that does it on
// several streams more still: their shares change from wave to wave.
struct Waste {
  std::uint64_t part;
  std::uint64_t moved_part;
};
constexpr Waste at_first = {80, 64};
constexpr Waste in_waves = {32, 4};
constexpr Waste in_waves_of_streams = {12, 4};
constexpr std::uint64_t moved_limit_part = 16;

}  // namespace

Heap::State::State(MemorySource& source_in, HeapUser& user_in, StatTable& stats_in, const HeapOptions& options_in)
    : source(source_in), user(user_in), stats(stats_in), options(options_in) {
  if (options.virtual_memory && source.page_bytes() != 0) {
    page = std::max(source.page_bytes(), min_page);
    page_shift = static_cast<unsigned>(std::countr_zero(page));
  }
  if (options.max_split_bytes != UINT64_MAX) {
    stats.max_split_size = static_cast<std::int64_t>(options.max_split_bytes);
  }
}

// -- Blocks ----------------------------------------------------------------------------------------------------------

/// Of a free block, what can't go back to the source, because its page or its segment is shared with blocks in use.
std::int64_t Heap::State::stuck_bytes(const Block* block) const noexcept {
  if (page == 0)
    return block->before != nullptr || block->after != nullptr ? static_cast<std::int64_t>(block->bytes) : 0;
  std::uint64_t first = 0;
  return static_cast<std::int64_t>(block->bytes - (whole_pages_in(block, &first) << page_shift));
}

void Heap::State::settle(bool small) noexcept {
  if (split_count != 0) stats.add(StatKind::inactive_split, small, split_count);
  if (split_bytes != 0) stats.add(StatKind::inactive_split_bytes, small, split_bytes);
  split_count = split_bytes = 0;
}

void Heap::State::add_free(Block* block) noexcept {
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

void Heap::State::remove_free(Block* block) noexcept {
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

Block* Heap::State::split_after(Block* block, std::uint64_t bytes) noexcept {
  assert(bytes > 0 && bytes < block->bytes);
  Block* rest = store.get();
  rest->address = block->address + bytes;
  rest->bytes = block->bytes - bytes;
  rest->requested = 0;
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

Block* Heap::State::join(Block* block, Block* after) noexcept {
  block->bytes += after->bytes;
  block->freed_at = std::max(block->freed_at, after->freed_at);
  block->after = after->after;
  if (block->after != nullptr) block->after->before = block;
  store.put(after);
  return block;
}

Block* Heap::State::free_and_join(Block* block) noexcept {
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

Block* Heap::State::carve(Block* block, anyplace_address begin, std::uint64_t bytes) {
  assert(block->backed && begin >= block->address && begin + bytes <= end_of(block));
  store.ensure(2);
  index.prepare(begin);
  remove_free(block);
  if (begin > block->address) {
    Block* rest = split_after(block, begin - block->address);
    add_free(block);
    block = rest;
  }
  if (block->bytes > bytes) add_free(split_after(block, bytes));
  block->stream = block->arena->key.stream;
  block->requested = 0;
  block->next = nullptr;
  ++block->arena->handed_out;
  handed_out += block->bytes;
  most_handed_out = std::max(most_handed_out, handed_out);
  if (ebb && handed_out > most_handed_out - most_handed_out / 4) {
    ebb = false;
    ++waves;
  }
  block->use.store(BlockUse::taken, std::memory_order_release);
  index.set(begin, block);
  return block;
}

/// The one block of a new segment; in no index. Uses one block of the store.
Block* Heap::State::first_block(Segment& segment, std::uint64_t bytes, bool backed) noexcept {
  Block* block = store.get();
  block->address = segment.address;
  block->bytes = bytes;
  block->requested = 0;
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

// -- Arenas ----------------------------------------------------------------------------------------------------------

PoolBooks& Heap::State::pool_of(std::uint64_t pool) {
  const auto found = pools.find(pool);
  if (found != pools.end()) return *found->second;
  return *pools.emplace(pool, std::make_unique<PoolBooks>()).first->second;
}

void Heap::State::forget_pool(std::uint64_t pool) noexcept {
  const auto found = pools.find(pool);
  if (found == pools.end() || !found->second->ended) return;
  const auto is_its = [&](const auto& arena) { return arena->pool == found->second.get(); };
  if (std::none_of(arenas.begin(), arenas.end(), is_its)) pools.erase(found);
}

/// An orphan's stream may still be at work: its pool ended, and what was given back in it is in use until then.
bool Heap::State::idle(const Arena& arena) noexcept { return user.idle(arena.key); }

std::uint64_t Heap::State::room(const Arena& arena) const noexcept {
  const std::uint64_t here = options.limit > reserved ? options.limit - reserved : 0;
  const PoolBooks& pool = *arena.pool;
  return std::min(here, pool.limit > pool.reserved ? pool.limit - pool.reserved : 0);
}

void Heap::State::account(Arena& arena, Segment& segment, std::int64_t bytes) noexcept {
  const bool small = arena.key.small;
  const auto change = static_cast<std::uint64_t>(bytes);  // modulo 2^64
  if (segment.reserved == 0) stats.add(StatKind::segment, small, 1);
  segment.reserved += change;
  if (segment.reserved == 0) stats.add(StatKind::segment, small, -1);
  if (arena.reserved == 0 && !small) ++streams;
  arena.reserved += change;
  if (arena.reserved == 0 && !small) --streams;
  arena.pool->reserved += change;
  reserved += change;
  stats.add(StatKind::reserved_bytes, small, bytes);
}

/// Whether to grow by `growth` for a request of `bytes`, rather than make do with what is free elsewhere. That keeps
/// the waste small; but a program that uses its memory in waves would be served by it with calls of the source in each.
/// So once it is seen to do that, it may waste more, and so may one for which much has been moved already.
bool Heap::State::may_grow(std::uint64_t bytes, std::uint64_t growth) const noexcept {
  const std::uint64_t most = std::max(most_handed_out, handed_out + bytes);
  const Waste& allowed = waves == 0 ? at_first : streams > 1 ? in_waves_of_streams : in_waves;
  const std::uint64_t waste = most / allowed.part + std::min(most / moved_limit_part, moved / allowed.moved_part);
  return reserved + growth <= most + waste + 2 * (page != 0 ? page : min_page);
}

std::uint64_t Heap::State::release(const std::uint64_t* pool) noexcept {
  std::uint64_t bytes = 0;
  ++clock;
  for (const auto& arena : arenas) {
    if (arena->cached_bytes == 0 || (pool != nullptr && arena->key.pool != *pool) || !idle(*arena)) continue;
    bytes += page != 0 ? release_pages(*arena) : release_segments(*arena);
    settle(arena->key.small);
  }
  return bytes;
}

// -- Heap ------------------------------------------------------------------------------------------------------------

Heap::Heap(MemorySource& source, HeapUser& user, StatTable& stats, HeapOptions options)
    : state_(std::make_unique<State>(source, user, stats, options)) {}

Heap::~Heap() {
  // A call for this many at most: a source that has no time for all of it can stop in between.
  constexpr std::size_t pages_a_call = 64;
  State& s = *state_;
  for (const auto& [address, segment] : s.segments) {
    if (s.page == 0) s.source.free(address, segment->bytes);
    for (std::size_t i = 0; i < segment->pages.size();) {
      const std::size_t begin = i;
      while (i < segment->pages.size() && i - begin < pages_a_call && segment->pages[i].physical != nullptr) ++i;
      if (i == begin) {
        ++i;
      } else {
        s.source.unmap(address + (begin << s.page_shift), (i - begin) << s.page_shift);
      }
    }
  }
  if (s.page == 0) return;
  for (const auto& [address, segment] : s.segments) {  // memory may have been mapped in several
    for (const Page& at : segment->pages) {
      if (at.backed()) s.source.destroy(at.physical->handle);
    }
    s.source.release(address, segment->bytes);
  }
}

bool Heap::uses_virtual_memory() const noexcept { return state_->page != 0; }
bool Heap::virtual_memory_fails(Reach reach) const noexcept {
  const State& s = *state_;
  if (s.page == 0 || s.mapped_once) return false;
  // What is out of memory now may have some later; what is so for its first mapping, with all the memory there is,
  // won't.
  return s.result == SourceResult::failed || (s.map_refused && reach == Reach::scavenge);
}
std::uint64_t Heap::reserved_bytes() const noexcept { return state_->reserved; }
std::uint64_t Heap::limit() const noexcept { return state_->options.limit; }
void Heap::set_limit(std::uint64_t bytes) noexcept { state_->options.limit = bytes; }
SourceResult Heap::last_result() const noexcept { return state_->result; }
const ArenaKey& Heap::key_of(const Arena& arena) const noexcept { return arena.key; }
std::uint64_t Heap::cached_bytes(const Arena& arena) const noexcept { return arena.cached_bytes; }

std::uint64_t Heap::reserved_bytes(std::uint64_t pool) const noexcept {
  const auto found = state_->pools.find(pool);
  return found == state_->pools.end() ? 0 : found->second->reserved;
}

void Heap::set_pool_limit(std::uint64_t pool, std::uint64_t bytes) { state_->pool_of(pool).limit = bytes; }

/// For the history: the arena's memory comes or goes, run by run of what is backed.
void Heap::State::note_segments(const Arena& arena, TraceAction action) noexcept {
  for (const auto& segment : arena.segments) {
    for (const Block* block = segment->first; block != nullptr;) {
      const Block* const first = block;
      std::uint64_t bytes = 0;
      for (; block != nullptr && block->backed == first->backed; block = block->after) bytes += block->bytes;
      if (first->backed) user.note(action, arena.key, first->address, bytes);
    }
  }
}

Arena& Heap::arena(const ArenaKey& key) {
  State& s = *state_;
  if (const auto found = s.by_key.find(key); found != s.by_key.end()) return *found->second;
  PoolBooks& pool = s.pool_of(key.pool);
  for (const auto& arena : s.arenas) {
    // What nobody holds any more goes on under a new name: at once on the stream that used it, whose order is order
    // enough, on another one when no work uses it.
    if (!arena->orphan || arena->handed_out != 0 || arena->key.small != key.small) continue;
    if (arena->pool != &pool && arena->reserved > (pool.limit > pool.reserved ? pool.limit - pool.reserved : 0))
      continue;
    if (arena->key.stream != key.stream && !s.idle(*arena)) continue;
    s.by_key.emplace(key, arena.get());
    arena->pool->reserved -= arena->reserved;
    pool.reserved += arena->reserved;
    arena->pool = &pool;
    s.note_segments(*arena, s.page != 0 ? TraceAction::segment_unmap : TraceAction::segment_free);
    const std::uint64_t left = std::exchange(arena->key, key).pool;
    s.note_segments(*arena, s.page != 0 ? TraceAction::segment_map : TraceAction::segment_alloc);
    arena->orphan = false;
    s.forget_pool(left);
    return *arena;
  }
  auto made = std::make_unique<Arena>();
  made->key = key;
  made->pool = &pool;
  s.arenas.reserve(s.arenas.size() + 1);
  s.by_key.emplace(key, made.get());
  s.arenas.push_back(std::move(made));
  return *s.arenas.back();
}

Block* Heap::take(Arena& arena, std::uint64_t bytes, Reach reach) {
  State& s = *state_;
  s.result = SourceResult::done;
  if (bytes == 0 || bytes > std::uint64_t{1} << 62U) {
    s.result = SourceResult::out_of_memory;
    return nullptr;
  }
  bytes = (bytes + block_unit - 1) & ~(block_unit - 1);
  ++s.clock;
  Block* block = s.page != 0 ? s.take_virtual(arena, bytes, reach) : s.take_classic(arena, bytes, reach);
  s.settle(arena.key.small);
  return block;
}

void Heap::give(Block* block) noexcept {
  State& s = *state_;
  ++s.clock;
  s.index.clear(block->address);
  --block->arena->handed_out;
  s.handed_out -= block->bytes;
  if (s.handed_out < s.most_handed_out / 2) s.ebb = true;
  const bool small = block->arena->key.small;
  if (s.page == 0 && block->bytes >= s.options.max_split_bytes) s.stats.oversize_allocations.add(-1);
  block->requested = 0;
  block->next = nullptr;
  block->freed_at = s.clock;
  block->use.store(BlockUse::free, std::memory_order_release);
  s.free_and_join(block);
  s.settle(small);
}

std::uint64_t Heap::least_growth(bool small, std::uint64_t bytes) const noexcept {
  const std::uint64_t page = state_->page;
  return page != 0 ? (bytes + page - 1) & ~(page - 1) : State::segment_bytes(small, bytes);
}

Arena* Heap::find_lender(const Arena& arena, std::uint64_t bytes) noexcept {
  Arena* best = nullptr;
  std::uint64_t tightest = UINT64_MAX;
  for (const auto& other : state_->arenas) {
    if (other.get() == &arena || other->key.pool != arena.key.pool || other->key.small != arena.key.small) continue;
    const Block* block = state_->page != 0 ? other->cached.best_fit(bytes) : state_->fit_classic(*other, bytes);
    if (block == nullptr || block->bytes >= tightest) continue;
    tightest = block->bytes;
    best = other.get();
  }
  return best;
}

Block* Heap::find(anyplace_address address) const noexcept {
  Block* const block = state_->index.find(address);
  return block != nullptr && block->address == address ? block : nullptr;
}

Block* Heap::find_near(anyplace_address address) const noexcept { return state_->index.find(address); }

Block* Heap::find_around(anyplace_address address) const noexcept {
  auto at = state_->segments.upper_bound(address);
  if (at == state_->segments.begin()) return nullptr;
  const Segment& segment = *(--at)->second;
  if (address - segment.address >= segment.bytes) return nullptr;
  Block* block = segment.first;
  while (address >= end_of(block)) block = block->after;
  return block;
}

std::uint64_t Heap::release_free() noexcept { return state_->release(nullptr); }
std::uint64_t Heap::release_free(std::uint64_t pool) noexcept { return state_->release(&pool); }

void Heap::orphan(std::uint64_t stream) noexcept {
  for (const auto& arena : state_->arenas) {
    if (arena->key.stream != stream || arena->orphan) continue;
    arena->orphan = true;
    state_->by_key.erase(arena->key);
  }
}

void Heap::orphan_pool(std::uint64_t pool) noexcept {
  for (const auto& arena : state_->arenas) {
    if (arena->key.pool != pool || arena->orphan) continue;
    arena->orphan = true;
    state_->by_key.erase(arena->key);
  }
  const auto found = state_->pools.find(pool);
  if (found == state_->pools.end()) return;
  found->second->limit = UINT64_MAX;
  found->second->ended = true;
  state_->forget_pool(pool);
}

}  // namespace anyplace::detail
