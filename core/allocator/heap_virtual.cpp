// SPDX-License-Identifier: Apache-2.0
//
// The heap over virtual memory: where a request goes that no backed hole holds, and where its pages come from.
//
// A page of memory that is free in one place serves in another by being mapped there too. The first mapping stays, and
// nothing uses its addresses until the page is free again and comes back, which takes no call of the source at all. So
// nothing has to be unmapped, which would have to wait for the stream's work: its order is order enough for both.
#include <algorithm>
#include <cassert>
#include <new>

#include "heap_state.h"

namespace anyplace::detail {
namespace {

constexpr std::uint64_t large_range = std::uint64_t{64} << 30U;
constexpr std::uint64_t small_range = std::uint64_t{1} << 30U;

/// Mappings beyond one for each page; more are ended where that is possible. (Linux has a limit of its own.)
constexpr std::uint64_t spare_mappings = 1024;

}  // namespace

std::uint64_t Heap::State::whole_pages_in(const Block* block, std::uint64_t* first) const noexcept {
  const std::uint64_t begin = block->address - block->segment->address;
  const std::uint64_t end = begin + block->bytes;
  *first = (begin + page - 1) >> page_shift;
  const std::uint64_t last = end >> page_shift;
  return last > *first ? last - *first : 0;
}

Block* Heap::State::take_virtual(Arena& arena, std::uint64_t bytes, Reach reach) {
  if (Block* fits = arena.cached.best_fit(bytes); fits != nullptr) return carve(fits, fits->address, bytes);
  const bool calls = reach != Reach::cached;
  if (!calls && pages.mappings == pages.held) return nullptr;

  const bool own_pool = arena.pool->limit != UINT64_MAX && arena.pool->limit < arena.pool->reserved + bytes + page;
  bool move = reach == Reach::scavenge;
  Spares spares = find_spares(arena, move, own_pool);
  WindowLimits limits{spares.search, calls, calls && idle(arena), false};
  Window window;
  if (!find_window(arena, bytes, page, limits, &window)) {
    if (!calls || reserve_range(arena, bytes) == nullptr) return nullptr;
    if (!find_window(arena, bytes, page, limits, &window)) return nullptr;
  }
  const std::uint64_t lacking = (window.maps + window.remaps) << page_shift;
  if (lacking != 0 && !move && !may_grow(bytes, lacking)) {
    move = true;
    spares = find_spares(arena, true, own_pool);
    limits.search = spares.search;
    if (!find_window(arena, bytes, page, limits, &window)) return nullptr;
  }
  Hand hand;
  if (!gather(arena, window, spares, reach, move, hand)) {
    // The place that lacks the fewest pages may have taken up those that would be needed.
    limits.save_pages = true;
    if (reach != Reach::scavenge || !find_window(arena, bytes, page, limits, &window)) return nullptr;
    if (!gather(arena, window, spares, reach, move, hand)) return nullptr;
  }
  if (!back(window, spares.search, hand)) return nullptr;
  Block* block = window.before_hole != nullptr ? window.before_hole->after : window.segment->first;
  while (end_of(block) <= window.begin) block = block->after;
  return carve(block, window.begin, bytes);
}

Segment* Heap::State::reserve_range(Arena& arena, std::uint64_t bytes) {
  const std::uint64_t least = (bytes + page - 1) & ~(page - 1);
  std::uint64_t wanted = options.address_space != 0 ? options.address_space
                         : arena.key.small          ? small_range
                                                    : large_range;
  wanted = std::max(least, (wanted + page - 1) & ~(page - 1));
  auto segment = std::make_unique<Segment>();
  segment->arena = &arena;
  store.ensure(1);
  arena.segments.reserve(arena.segments.size() + 1);
  for (;; wanted = std::max(least, (wanted / 2 + page - 1) & ~(page - 1))) {
    result = source.reserve(wanted, &segment->address);
    if (result == SourceResult::done) break;
    if (wanted == least) return nullptr;
  }
  segment->bytes = wanted;
  try {
    segments.emplace(segment->address, segment.get());
  } catch (...) {
    source.release(segment->address, wanted);
    throw;
  }
  add_free(first_block(*segment, wanted, false));
  arena.segments.push_back(std::move(segment));
  return arena.segments.back().get();
}

/// What the arena has free in whole pages; with `others`, what other arenas have too that are idle.
Spares Heap::State::find_spares(const Arena& for_arena, bool others, bool own_pool) {
  Spares spares;
  spares.search = ++searches;
  for (const auto& arena : arenas) {
    const bool own = arena.get() == &for_arena;
    if (arena->cached_bytes < page || (!own && !others) || (own_pool && arena->pool != for_arena.pool)) continue;
    if (!own && !idle(*arena)) continue;
    const bool movable = others && (pages.mappings < 2 * pages.held + spare_mappings || idle(*arena));
    arena->cached.for_each(page, [&](Block* block) {
      std::uint64_t first = 0;
      const std::uint64_t count = whole_pages_in(block, &first);
      if (count == 0) return;
      spares.blocks.push_back(block);
      if (movable) spares.pages += count;
      for (std::uint64_t i = first; i < first + count; ++i) {
        Physical& physical = *block->segment->pages[i].physical;
        physical.free_in = spares.search;
        physical.movable = movable;
      }
    });
  }
  std::sort(spares.blocks.begin(), spares.blocks.end(), [](const Block* a, const Block* b) {
    if (a->arena->orphan != b->arena->orphan) return a->arena->orphan;
    return a->freed_at != b->freed_at ? a->freed_at < b->freed_at : a->address < b->address;
  });
  return spares;
}

/// Obtains the pages that the window lacks. False, or an exception: everything is where it was.
bool Heap::State::gather(Arena& arena, const Window& window, Spares& spares, Reach reach, bool move, Hand& hand) {
  Segment& segment = *window.segment;
  const std::uint64_t first = window.first_page(page);
  const std::uint64_t last = window.last_page(page);
  const std::uint64_t need = window.maps + window.remaps;
  const std::uint64_t room_pages = room(arena) >> page_shift;

  // Of the spare pages, some are in the window already, and some are chosen for it.
  std::uint64_t movable = move ? spares.pages : 0;
  std::uint64_t chosen = 0;
  for (std::uint64_t i = first; i < std::min<std::uint64_t>(last, segment.pages.size()); ++i) {
    Physical* physical = segment.pages[i].physical;
    if (physical == nullptr || physical->free_in != spares.search) continue;
    const Page& home = *physical->home;
    const bool in_window = home.segment == &segment && home.index >= first && home.index < last;
    if (!in_window && physical->wanted_in == spares.search) continue;
    if (movable > 0 && physical->movable && (!in_window || home.index == i)) --movable;
    if (in_window) continue;
    physical->wanted_in = spares.search;
    ++chosen;
  }
  assert(chosen == window.switched);
  result = SourceResult::out_of_memory;
  const bool enough = movable >= need || room_pages >= need - movable;
  if (enough) {
    store.ensure(2 * (need + chosen) + 8 + 4);  // the last: an unmap may fail here, and one in back()
    hand.any.reserve(need);
    hand.chosen.reserve(chosen);
    while (segment.pages.size() < last) {
      Page& made = segment.pages.emplace_back();
      made.segment = &segment;
      made.index = segment.pages.size() - 1;
    }
  }
  const bool scavenge = reach == Reach::scavenge;
  const std::uint64_t others = scavenge ? 0 : std::min(movable, need);
  for (std::uint64_t made = others; enough && made < need && made - others < room_pages; ++made) {
    pages.ensure();
    anyplace_physical handle = 0;
    result = source.create(page, &handle);
    if (result != SourceResult::done) break;
    hand.any.push_back(pages.get(handle));
  }
  if (enough && hand.any.size() + movable >= need) {
    move_out(window, spares, need - hand.any.size(), hand);
    if (hand.any.size() == need) return true;
  }
  if (result == SourceResult::done) result = SourceResult::out_of_memory;
  for (Physical* physical : hand.chosen) physical->wanted_in = 0;
  put_back(hand);
  for (std::uint64_t i = first; i < std::min<std::uint64_t>(last, segment.pages.size()); ++i) {
    if (segment.pages[i].physical != nullptr) segment.pages[i].physical->wanted_in = 0;
  }
  return false;
}

/// Takes from the spares what is wanted where it is mapped already, and `wanted` pages more, the first spares first.
void Heap::State::move_out(const Window& window, const Spares& spares, std::uint64_t wanted, Hand& hand) noexcept {
  const std::uint64_t from = window.first_page(page);
  const std::uint64_t to = window.last_page(page);
  std::uint64_t chosen = window.switched;
  bool unmaps = true;  // what fails once isn't tried again: the store has blocks for one failure
  for (Block* block : spares.blocks) {
    if (wanted == 0 && chosen == 0) return;
    Segment& segment = *block->segment;
    std::uint64_t first = 0;
    std::uint64_t last = whole_pages_in(block, &first);
    last += first;
    // From the end, so that what is left of the block stays one.
    while (last > first) {
      std::uint64_t begin = last;
      while (begin > first) {
        const Physical& physical = *segment.pages[begin - 1].physical;
        const bool in_window = &segment == window.segment && begin - 1 >= from && begin - 1 < to;
        if (in_window) break;
        if (physical.wanted_in == spares.search) {
          hand.chosen.push_back(segment.pages[begin - 1].physical);
          --chosen;
        } else if (wanted > 0 && physical.movable) {
          hand.any.push_back(segment.pages[begin - 1].physical);
          moved += page;
          --wanted;
        } else {
          break;
        }
        --begin;
      }
      if (begin < last) {
        const bool crowded = pages.mappings >= 2 * pages.held + spare_mappings;
        const bool ended = unmaps && crowded && idle(*block->arena);
        block = unback(block, begin, last - begin);
        if (ended) unmaps = unmap_pages(segment, begin, last - begin);
        if (block == nullptr) break;
        last = begin;
      } else {
        --last;
      }
    }
  }
}

// -- Blocks and pages ------------------------------------------------------------------------------------------------

/// Pages of a free block are its own no more; they stay mapped. Returns what is left of the block before them, or null.
/// Uses two blocks of the store.
Block* Heap::State::unback(Block* block, std::uint64_t first, std::uint64_t count) noexcept {
  Segment& segment = *block->segment;
  Arena& arena = *block->arena;
  const anyplace_address begin = segment.address + (first << page_shift);
  const std::uint64_t bytes = count << page_shift;
  for (std::uint64_t i = first; i < first + count; ++i) segment.pages[i].physical->home = nullptr;
  remove_free(block);
  Block* left = nullptr;
  if (begin > block->address) {
    left = block;
    block = split_after(block, begin - block->address);
    add_free(left);
  }
  if (block->bytes > bytes) add_free(split_after(block, bytes));
  block->backed = false;
  free_and_join(block);
  account(arena, segment, -static_cast<std::int64_t>(bytes));
  settle(arena.key.small);
  user.note(TraceAction::segment_unmap, arena.key, begin, bytes);
  return left;
}

/// The other way round, after mapping. Returns the backed block that they are part of now.
Block* Heap::State::back_run(Block* hole, std::uint64_t first, std::uint64_t count) noexcept {
  Segment& segment = *hole->segment;
  Arena& arena = *hole->arena;
  const anyplace_address begin = segment.address + (first << page_shift);
  const std::uint64_t bytes = count << page_shift;
  for (std::uint64_t i = first; i < first + count; ++i) {
    segment.pages[i].physical->home = &segment.pages[i];
  }
  remove_free(hole);
  if (begin > hole->address) {
    Block* rest = split_after(hole, begin - hole->address);
    add_free(hole);
    hole = rest;
  }
  if (hole->bytes > bytes) add_free(split_after(hole, bytes));
  hole->backed = true;
  hole->freed_at = clock;
  account(arena, segment, static_cast<std::int64_t>(bytes));
  Block* block = free_and_join(hole);
  settle(arena.key.small);
  user.note(TraceAction::segment_map, arena.key, begin, bytes);
  return block;
}

/// Backs what the window lacks, with what was gathered for it. False: some of it is free memory now, the rest is back.
bool Heap::State::back(const Window& window, std::uint64_t search, Hand& hand) noexcept {
  Segment& segment = *window.segment;
  const std::uint64_t from = window.first_page(page);
  const std::uint64_t to = window.last_page(page);
  bool complete = true;
  bool mapped = false;
  Block* piece = window.before_hole != nullptr ? window.before_hole->after : segment.first;
  for (; complete && is_free(piece) && piece->address < window.end; piece = piece->after) {
    if (piece->backed || end_of(piece) <= window.begin) continue;
    const std::uint64_t first = std::max(from, (piece->address - segment.address) >> page_shift);
    const std::uint64_t last = std::min(to, (end_of(piece) - segment.address) >> page_shift);
    std::uint64_t at = first;
    while (at < last && back_page(segment.pages[at], last, search, hand, &mapped)) ++at;
    complete = at == last;
    if (at > first) piece = back_run(piece, first, at - first);
  }
  if (mapped) ++stats.num_device_alloc;
  if (!complete) put_back(hand);
  return complete;
}

/// One of them, of pages up to `last` that will follow.
bool Heap::State::back_page(Page& at, std::uint64_t last, std::uint64_t search, Hand& hand, bool* mapped) noexcept {
  const auto is_chosen = [search](const Page& page_at) {
    return page_at.physical->home == nullptr && page_at.physical->wanted_in == search;
  };
  if (at.physical != nullptr && is_chosen(at)) {
    at.physical->home = &at;
    return true;
  }
  if (at.physical != nullptr) {
    // What is in the way goes in one call as far as it adjoins.
    const std::deque<Page>& all = at.segment->pages;
    std::uint64_t end = at.index + 1;
    while (end < last && all[end].physical != nullptr && !is_chosen(all[end])) ++end;
    if (!unmap_pages(*at.segment, at.index, end - at.index)) return false;
  }
  assert(!hand.any.empty());
  if (!map_page(at, hand.any.back())) return false;
  *mapped = true;
  at.physical->home = &at;
  hand.any.pop_back();
  return true;
}

/// What isn't anywhere goes where it was before, or to the source if that was nowhere.
void Heap::State::put_back(Hand& hand) noexcept {
  for (std::vector<Physical*>* some : {&hand.any, &hand.chosen}) {
    for (Physical* physical : *some) {
      if (physical->home != nullptr) continue;
      if (physical->mapped == nullptr) {
        source.destroy(physical->handle);
        pages.put(physical);
        continue;
      }
      const Page& at = *physical->mapped;
      Block* hole = at.segment->first;
      while (end_of(hole) <= at.segment->address + (at.index << page_shift)) hole = hole->after;
      back_run(hole, at.index, 1);
    }
    some->clear();
  }
}

bool Heap::State::map_page(Page& at, Physical* physical) noexcept {
  result = source.map(at.segment->address + (at.index << page_shift), physical->handle);
  if (result != SourceResult::done) {
    map_refused = !mapped_once;
    return false;
  }
  mapped_once = true;
  at.physical = physical;
  at.next = physical->mapped;
  physical->mapped = &at;
  ++pages.mappings;
  return true;
}

/// All of them mapped, none backed. They aren't mapped afterwards as far as the heap is concerned; where that failed
/// their addresses are spoilt. Then it uses two blocks of the store.
bool Heap::State::unmap_pages(Segment& segment, std::uint64_t first, std::uint64_t count) noexcept {
  const bool unmapped = source.unmap(segment.address + (first << page_shift), count << page_shift);
  if (unmapped) {
    ++stats.num_device_free;
  } else {
    result = SourceResult::failed;
    spoil(segment, first, count);
  }
  for (std::uint64_t i = first; i < first + count; ++i) {
    Page& at = segment.pages[i];
    Page** link = &at.physical->mapped;
    while (*link != &at) link = &(*link)->next;
    *link = at.next;
    at.physical = nullptr;
    at.next = nullptr;
    --pages.mappings;
  }
  return unmapped;
}

/// Takes addresses of one hole out of use for good: the memory that they had may still be there, or not.
void Heap::State::spoil(Segment& segment, std::uint64_t first, std::uint64_t count) noexcept {
  const anyplace_address begin = segment.address + (first << page_shift);
  const std::uint64_t bytes = count << page_shift;
  Block* hole = segment.first;
  while (end_of(hole) <= begin) hole = hole->after;
  assert(is_free(hole) && !hole->backed);
  remove_free(hole);
  if (begin > hole->address) {
    Block* const rest = split_after(hole, begin - hole->address);
    add_free(hole);
    hole = rest;
  }
  if (hole->bytes > bytes) add_free(split_after(hole, bytes));
  hole->use.store(BlockUse::spoilt, std::memory_order_release);
}

std::uint64_t Heap::State::release_pages(Arena& arena) noexcept {
  std::uint64_t released = 0;
  try {
    std::vector<Block*> blocks;
    std::vector<Physical*> leaving;
    arena.cached.for_each(page, [&](Block* block) { blocks.push_back(block); });
    for (Block* block : blocks) {
      std::uint64_t first = 0;
      std::uint64_t last = whole_pages_in(block, &first);
      last += first;
      while (block != nullptr && last > first) {
        // A run whose pages are mapped nowhere else any more.
        std::uint64_t begin = last;
        while (begin > first && unmap_elsewhere(block->segment->pages[begin - 1])) --begin;
        if (begin == last) {
          --last;
          continue;
        }
        Segment& segment = *block->segment;
        leaving.clear();
        for (std::uint64_t i = begin; i < last; ++i) leaving.push_back(segment.pages[i].physical);
        store.ensure(4);
        block = unback(block, begin, last - begin);
        const bool unmapped = unmap_pages(segment, begin, last - begin);
        for (Physical* physical : leaving) {
          source.destroy(physical->handle);
          pages.put(physical);
        }
        if (!unmapped) return released;  // what fails here may fail everywhere
        released += (last - begin) << page_shift;
        last = begin;
      }
    }
  } catch (const std::bad_alloc&) {
    // The rest stays.
  }
  return released;
}

/// Throws std::bad_alloc.
bool Heap::State::unmap_elsewhere(const Page& home) {
  const Physical& physical = *home.physical;
  store.ensure(2);
  for (Page* at = physical.mapped; at != nullptr;) {
    Page* next = at->next;
    if (at != &home && !unmap_pages(*at->segment, at->index, 1)) return false;
    at = next;
  }
  return true;
}

}  // namespace anyplace::detail
