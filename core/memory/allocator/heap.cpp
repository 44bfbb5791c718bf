// SPDX-License-Identifier: Apache-2.0
#include "memory/allocator/heap.h"

#include <algorithm>
#include <new>
#include <utility>

#include "memory/allocator/heap_check.h"
#include "memory/allocator/heap_executor.h"
#include "memory/allocator/heap_planner.h"
#include "memory/allocator/heap_state.h"
#include "memory/allocator/most_bytes.h"

namespace anyplace::detail {
namespace {

std::uint64_t page_of(MemorySource& source, const HeapOptions& options) {
  const std::uint64_t page = options.virtual_memory ? source.page_bytes() : 0;
  return page == 0 ? 0 : std::max(page, min_page);
}

/// Returns pages to the source that a request was given and hasn't used.
class PagesAtHand {
 public:
  explicit PagesAtHand(HeapExecutor& executor) noexcept : executor_(executor) {}
  PagesAtHand(const PagesAtHand&) = delete;  // it is bound to its scope
  PagesAtHand& operator=(const PagesAtHand&) = delete;
  ~PagesAtHand() { executor_.drop_pages_at_hand(); }

 private:
  HeapExecutor& executor_;
};

}  // namespace

struct Heap::Parts {
  Parts(MemorySource& source, HeapUser& user_in, StatTable& stats, const HeapOptions& options)
      : user(user_in),
        state(stats, options, page_of(source, options)),
        planner(state, user),
        executor(state, source, user) {}

  HeapUser& user;
  HeapState state;
  HeapPlanner planner;
  HeapExecutor executor;
  Arena* last_arena = nullptr;  ///< the arena that was looked up last, or null

  Block* carve(Block* block, anyplace_address begin, std::uint64_t bytes);
  Block* carve_place(const PlanPlace& place, std::uint64_t bytes);
  Block* take_by_plan(Arena& arena, std::uint64_t bytes, Reach reach);
  Block* refuse(Reach reach) noexcept;
  std::uint64_t release(const std::uint64_t* pool) noexcept;
  void note_memory(const Arena& arena, TraceAction action) noexcept;
  bool may_adopt(const Arena& orphan, const ArenaKey& key, const PoolTotals& pool) noexcept;
  void adopt(Arena& orphan, const ArenaKey& key, PoolTotals& pool);
};

Heap::Heap(MemorySource& source, HeapUser& user, StatTable& stats, HeapOptions options)
    : parts_(std::make_unique<Parts>(source, user, stats, options)) {}

Heap::~Heap() { parts_->executor.give_back_everything(); }

// -- Figures ---------------------------------------------------------------------------------------------------------

bool Heap::uses_virtual_memory() const noexcept { return parts_->state.page != 0; }
bool Heap::virtual_memory_fails(Reach reach) const noexcept {
  const HeapExecutor& executor = parts_->executor;
  if (!uses_virtual_memory() || executor.mapped_once) return false;
  // A source that is out of memory now may have some later. But one that fails its first mapping, when everything else
  // was tried, won't.
  return executor.result == SourceResult::failed || (executor.map_refused && reach == Reach::scavenge);
}
std::uint64_t Heap::reserved_bytes() const noexcept { return parts_->state.reserved; }
std::uint64_t Heap::limit() const noexcept { return parts_->state.options.limit; }
void Heap::set_limit(std::uint64_t bytes) noexcept { parts_->state.options.limit = bytes; }
SourceResult Heap::last_result() const noexcept { return parts_->executor.result; }
const ArenaKey& Heap::key_of(const Arena& arena) const noexcept { return arena.key; }
std::uint64_t Heap::cached_bytes(const Arena& arena) const noexcept { return arena.cached_bytes; }

std::uint64_t Heap::reserved_bytes(std::uint64_t pool) const noexcept {
  const auto found = parts_->state.pools.find(pool);
  return found == parts_->state.pools.end() ? 0 : found->second->reserved;
}

void Heap::set_pool_limit(std::uint64_t pool, std::uint64_t bytes) { parts_->state.pool_of(pool).limit = bytes; }

void Heap::describe(std::vector<SnapshotSegment>& segments) const { describe_heap(parts_->state, segments); }
void Heap::check() const { check_heap(parts_->state); }

// -- Arenas ----------------------------------------------------------------------------------------------------------

/// Notes in the history that the arena's memory comes or goes, for each run of backed blocks.
void Heap::Parts::note_memory(const Arena& arena, TraceAction action) noexcept {
  for (const auto& segment : arena.segments) {
    for (const Block* block = segment->first; block != nullptr;) {
      const Block* const first = block;
      std::uint64_t bytes = 0;
      for (; block != nullptr && block->backed == first->backed; block = block->after) bytes += block->bytes;
      if (first->backed) user.note(action, arena.key, first->address, bytes);
    }
  }
}

/// Whether an orphaned arena without blocks in use may get a new key. On the stream that used it it may at once,
/// because that stream's order suffices; on another stream when no work uses its memory.
bool Heap::Parts::may_adopt(const Arena& orphan, const ArenaKey& key, const PoolTotals& pool) noexcept {
  if (!orphan.orphan || orphan.handed_out != 0 || orphan.key.small != key.small) return false;
  if (orphan.pool != &pool && orphan.reserved > pool.room()) return false;
  return orphan.key.stream == key.stream || user.idle(orphan.key);
}

void Heap::Parts::adopt(Arena& orphan, const ArenaKey& key, PoolTotals& pool) {
  state.by_key.emplace(key, &orphan);
  orphan.pool->reserved -= orphan.reserved;
  pool.reserved += orphan.reserved;
  orphan.pool = &pool;
  note_memory(orphan, state.page != 0 ? TraceAction::segment_unmap : TraceAction::segment_free);
  const std::uint64_t left = std::exchange(orphan.key, key).pool;
  note_memory(orphan, state.page != 0 ? TraceAction::segment_map : TraceAction::segment_alloc);
  orphan.orphan = false;
  state.forget_pool(left);
}

Arena& Heap::arena(const ArenaKey& key) {
  HeapState& state = parts_->state;
  // A program seldom changes stream, pool and size class from one request to the next, so the last arena is tried
  // first. Arenas are never destroyed before the heap.
  Arena*& last = parts_->last_arena;
  if (last != nullptr && !last->orphan && last->key == key) return *last;
  if (const auto found = state.by_key.find(key); found != state.by_key.end()) return *(last = found->second);
  PoolTotals& pool = state.pool_of(key.pool);
  for (const auto& arena : state.arenas) {
    if (!parts_->may_adopt(*arena, key, pool)) continue;
    parts_->adopt(*arena, key, pool);
    return *arena;
  }
  auto made = std::make_unique<Arena>();
  made->key = key;
  made->pool = &pool;
  state.arenas.reserve(state.arenas.size() + 1);
  state.by_key.emplace(key, made.get());
  state.arenas.push_back(std::move(made));
  return *state.arenas.back();
}

void Heap::orphan(std::uint64_t stream) noexcept {
  HeapState& state = parts_->state;
  for (const auto& arena : state.arenas) {
    if (arena->key.stream != stream || arena->orphan) continue;
    arena->orphan = true;
    state.by_key.erase(arena->key);
  }
}

void Heap::orphan_pool(std::uint64_t pool) noexcept {
  HeapState& state = parts_->state;
  for (const auto& arena : state.arenas) {
    if (arena->key.pool != pool || arena->orphan) continue;
    arena->orphan = true;
    state.by_key.erase(arena->key);
  }
  const auto found = state.pools.find(pool);
  if (found == state.pools.end()) return;
  found->second->limit = UINT64_MAX;
  found->second->ended = true;
  state.forget_pool(pool);
}

// -- Handing out -----------------------------------------------------------------------------------------------------

Block* Heap::take(Arena& arena, std::uint64_t bytes, Reach reach) {
  Parts& parts = *parts_;
  parts.executor.result = SourceResult::done;
  if (bytes == 0 || bytes > most_bytes) {
    parts.executor.result = SourceResult::out_of_memory;
    return nullptr;
  }
  bytes = (bytes + block_unit - 1) & ~(block_unit - 1);
  ++parts.state.clock;
  Block* const fit = parts.planner.find_fit(arena, bytes);
  Block* const block = fit != nullptr ? parts.carve(fit, fit->address, bytes) : parts.take_by_plan(arena, bytes, reach);
  parts.state.settle(arena.key.small);
  return block;
}

/// With classic segments, a block above max_split_bytes isn't split.
Block* Heap::Parts::carve(Block* block, anyplace_address begin, std::uint64_t bytes) {
  const bool whole = state.page == 0 && block->bytes >= state.options.max_split_bytes;
  Block* const taken = state.carve(block, begin, whole ? block->bytes : bytes);
  if (whole) state.stats.oversize_allocations.add(1);
  return taken;
}

/// Plans, and makes the plans' moves, until the request has its place or nothing is left to try.
Block* Heap::Parts::take_by_plan(Arena& arena, std::uint64_t bytes, Reach reach) {
  const PagesAtHand rest(executor);
  SourceNews news;
  bool has_spoilt = false;  // one attempt more: a source that can't unmap at all isn't asked again and again
  for (;;) {
    const Plan& plan = planner.plan_take(arena, bytes, reach, news);
    const HeapExecutor::Outcome outcome = executor.run(plan, &arena);
    if (outcome == HeapExecutor::Outcome::spoilt && !has_spoilt) {
      has_spoilt = true;
    } else if (outcome != HeapExecutor::Outcome::done) {
      // Another plan is made if it can help: without the pages that the request doesn't need or, as the last resort,
      // with pages from elsewhere.
      if (outcome != HeapExecutor::Outcome::short_of_memory || news.refused) return nullptr;
      if (reach != Reach::scavenge && plan.ahead == 0) return nullptr;
      news.refused = true;
      news.pages = executor.pages_at_hand();
    } else if (plan.end == PlanEnd::again) {
      news.reserved = true;
    } else {
      return plan.end == PlanEnd::block ? carve_place(plan.place, bytes) : refuse(reach);
    }
  }
}

Block* Heap::Parts::carve_place(const PlanPlace& place, std::uint64_t bytes) {
  Block* const block = executor.block_at(place);
  return carve(block, place.segment != nullptr ? place.begin : block->address, bytes);
}

/// A request that can't be planned is out of memory, unless the source failed in another way.
Block* Heap::Parts::refuse(Reach reach) noexcept {
  if (reach != Reach::cached && executor.result == SourceResult::done) executor.result = SourceResult::out_of_memory;
  return nullptr;
}

void Heap::give(Block* block) noexcept {
  HeapState& state = parts_->state;
  const bool small = block->arena->key.small;
  ++state.clock;
  if (state.page == 0 && block->bytes >= state.options.max_split_bytes) state.stats.oversize_allocations.add(-1);
  state.give(block);
  state.settle(small);
}

std::uint64_t Heap::least_growth(bool small, std::uint64_t bytes) const noexcept {
  return parts_->planner.least_growth(small, bytes);
}

Arena* Heap::find_lender(const Arena& arena, std::uint64_t bytes) noexcept {
  Arena* best = nullptr;
  std::uint64_t tightest = UINT64_MAX;
  for (const auto& other : parts_->state.arenas) {
    if (other.get() == &arena || other->key.pool != arena.key.pool || other->key.small != arena.key.small) continue;
    const Block* const block = parts_->planner.find_fit(*other, bytes);
    if (block == nullptr || block->bytes >= tightest) continue;
    tightest = block->bytes;
    best = other.get();
  }
  return best;
}

// -- Looking up ------------------------------------------------------------------------------------------------------

Block* Heap::find(anyplace_address address) const noexcept {
  Block* const block = parts_->state.index.find(address);
  return block != nullptr && block->address == address ? block : nullptr;
}

Block* Heap::find_near(anyplace_address address) const noexcept { return parts_->state.index.find(address); }

Block* Heap::find_taken_around(anyplace_address address) const noexcept {
  const auto& segments = parts_->state.segments;
  auto at = segments.upper_bound(address);
  if (at == segments.begin()) return nullptr;
  const Segment& segment = *(--at)->second;
  if (address - segment.address >= segment.bytes) return nullptr;
  Block* const block = parts_->state.index.find_last(address, segment.address);
  return block != nullptr && address - block->address < block->bytes ? block : nullptr;
}

Block* Heap::find_around(anyplace_address address) const noexcept {
  const auto& segments = parts_->state.segments;
  auto at = segments.upper_bound(address);
  if (at == segments.begin()) return nullptr;
  const Segment& segment = *(--at)->second;
  if (address - segment.address >= segment.bytes) return nullptr;
  Block* block = segment.first;
  while (address >= end_of(block)) block = block->after;
  return block;
}

// -- Taking back -----------------------------------------------------------------------------------------------------

std::uint64_t Heap::Parts::release(const std::uint64_t* pool) noexcept {
  ++state.clock;
  try {
    executor.run(planner.plan_release(pool), nullptr);
    return executor.released();
  } catch (const std::bad_alloc&) {
    return 0;  // without memory for the plan nothing is released
  }
}

std::uint64_t Heap::release_free() noexcept { return parts_->release(nullptr); }
std::uint64_t Heap::release_free(std::uint64_t pool) noexcept { return parts_->release(&pool); }

}  // namespace anyplace::detail
