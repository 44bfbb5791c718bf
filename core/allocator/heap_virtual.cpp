// SPDX-License-Identifier: Apache-2.0
//
// The heap over virtual memory: where a request goes that no backed hole holds, and where its pages come from.
#include <algorithm>
#include <cassert>
#include <new>

#include "heap_state.h"

namespace anyplace::detail {
namespace {

constexpr std::uint64_t large_range = std::uint64_t{64} << 30U;
constexpr std::uint64_t small_range = std::uint64_t{1} << 30U;

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
  if (reach == Reach::cached) return nullptr;
  Window window;
  if (!find_window(arena, bytes, false, &window)) {
    if (reserve_range(arena, bytes) == nullptr) return nullptr;
    if (!find_window(arena, bytes, false, &window)) return nullptr;
  }
  std::vector<anyplace_physical> pages;
  if (!gather(arena, window, reach, pages)) {
    // Where the fewest pages are missing, others that are free may be in the way of being moved there.
    if (reach != Reach::scavenge || !find_window(arena, bytes, true, &window)) return nullptr;
    if (!gather(arena, window, reach, pages)) return nullptr;
  }
  if (!back(window, pages)) return nullptr;
  Block* block = window.before_hole != nullptr ? window.before_hole->after : window.segment->first;
  while (end_of(block) <= window.begin) block = block->after;
  return carve(block, window.begin, bytes);
}

namespace {

/// Weighs the places that one hole has for a request.
class HoleSearch {
 public:
  HoleSearch(std::uint64_t bytes, std::uint64_t page, bool save_pages)
      : bytes_(bytes), page_(page), save_(save_pages) {}

  void look_at(Block* first, Window* best) {
    begin_ = first->address;
    pieces_.clear();
    for (Block* piece = first; is_free(piece); piece = piece->after) pieces_.push_back(piece);
    end_ = end_of(pieces_.back());
    if (end_ - begin_ < bytes_) return;
    consider(begin_, best);
    for (const Block* piece : pieces_) {
      if (!piece->backed) continue;
      consider(piece->address, best);
      if (end_of(piece) >= begin_ + bytes_) consider(end_of(piece) - bytes_, best);
    }
    consider(end_ - bytes_, best);
  }

 private:
  std::uint64_t pages_between(anyplace_address from, anyplace_address to) const {
    const std::uint64_t base = pieces_.front()->segment->address;
    return (to - base + page_ - 1) / page_ - (from - base) / page_;
  }

  void consider(anyplace_address begin, Window* best) const {
    const anyplace_address end = begin + bytes_;
    if (begin < begin_ || end > end_) return;
    Window window;
    for (const Block* piece : pieces_) {
      if (piece->address >= end) break;
      if (piece->backed || end_of(piece) <= begin) continue;
      window.new_pages += pages_between(std::max(begin, piece->address), std::min(end, end_of(piece)));
    }
    const std::uint64_t base = pieces_.front()->segment->address;
    window.whole_pages = pages_between(begin, end);
    const bool shares_first = base + (begin - base) / page_ * page_ < begin_;
    const bool shares_last = base + (end - base + page_ - 1) / page_ * page_ > end_;
    window.whole_pages -= std::min<std::uint64_t>(window.whole_pages, (shares_first ? 1 : 0) + (shares_last ? 1 : 0));
    window.segment = pieces_.front()->segment;
    window.before_hole = pieces_.front()->before;
    window.begin = begin;
    window.end = end;
    window.hole = end_ - begin_;
    if (best->segment == nullptr || better(window, *best)) *best = window;
  }

  bool better(const Window& a, const Window& b) const {
    if (save_ && a.whole_pages != b.whole_pages) return a.whole_pages < b.whole_pages;
    if (a.new_pages != b.new_pages) return a.new_pages < b.new_pages;
    if (a.hole != b.hole) return a.hole < b.hole;
    if (a.whole_pages != b.whole_pages) return a.whole_pages < b.whole_pages;
    return a.begin < b.begin;
  }

  std::uint64_t bytes_;
  std::uint64_t page_;
  bool save_;
  anyplace_address begin_ = 0;
  anyplace_address end_ = 0;
  std::vector<Block*> pieces_;
};

}  // namespace

bool Heap::State::find_window(Arena& arena, std::uint64_t bytes, bool save_pages, Window* window) const {
  *window = Window{};
  HoleSearch search(bytes, page, save_pages);
  arena.unbacked.for_each(0, [&](Block* block) {
    // Each hole once: at the first of it that isn't backed.
    Block* first = block;
    if (is_free(first->before)) {
      first = first->before;
      if (is_free(first->before)) return;
    }
    search.look_at(first, window);
  });
  return window->segment != nullptr;
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

// -- Pages -----------------------------------------------------------------------------------------------------------

/// Obtains the pages that the window lacks: new ones, and others' that are free. False: none was kept.
bool Heap::State::gather(Arena& arena, const Window& window, Reach reach, std::vector<anyplace_physical>& pages) {
  const std::uint64_t need = window.new_pages;
  pages.reserve(need);
  const std::uint64_t room_pages = room(arena) >> page_shift;
  const PoolBooks& pool = *arena.pool;
  const bool own_pool = pool.limit != UINT64_MAX && pool.limit < pool.reserved + (need << page_shift);
  const bool scavenge = reach == Reach::scavenge;
  std::vector<Spare> spares;
  std::uint64_t movable = 0;
  if (scavenge || moving_pays(need << page_shift)) movable = find_spares(arena, &window, own_pool, spares);
  result = SourceResult::out_of_memory;
  if (movable + room_pages < need) return false;

  if (!scavenge) move_out(spares, need, pages);
  while (pages.size() < need && pages.size() < room_pages + (scavenge ? 0 : movable)) {
    anyplace_physical physical = 0;
    result = source.create(page, &physical);
    if (result != SourceResult::done) break;
    pages.push_back(physical);
  }
  if (scavenge) move_out(spares, need - pages.size(), pages);
  if (pages.size() == need) return true;
  if (result == SourceResult::done) result = SourceResult::out_of_memory;
  discard(pages);
  return false;
}

std::uint64_t Heap::State::find_spares(const Arena& for_arena, const Window* window, bool own_pool,
                                       std::vector<Spare>& spares) {
  std::uint64_t total = 0;
  for (const auto& arena : arenas) {
    if (arena->cached_bytes < page || (own_pool && arena->pool != for_arena.pool) || !idle(*arena)) continue;
    arena->cached.for_each(page, [&](Block* block) {
      Spare spare{block, 0, 0};
      spare.count = whole_pages_in(block, &spare.first);
      if (window != nullptr && block->segment == window->segment) {
        // The window reaches beyond the block, so it leaves one end of it at most.
        const std::uint64_t from = (window->begin - window->segment->address) >> page_shift;
        const std::uint64_t to = (window->end - window->segment->address + page - 1) >> page_shift;
        const std::uint64_t last = spare.first + spare.count;
        if (from <= spare.first && spare.first < to) {
          spare.first = std::min(to, last);
          spare.count = last - spare.first;
        } else if (from < last && spare.first < from) {
          spare.count = from - spare.first;
        }
      }
      if (spare.count == 0) return;
      total += spare.count;
      spares.push_back(spare);
    });
  }
  std::sort(spares.begin(), spares.end(), [](const Spare& a, const Spare& b) {
    if (a.block->arena->orphan != b.block->arena->orphan) return a.block->arena->orphan;
    if (a.block->freed_at != b.block->freed_at) return a.block->freed_at < b.block->freed_at;
    return a.block->address < b.block->address;
  });
  return total;
}

/// Takes up to `wanted` pages of the spares, the first spares first.
void Heap::State::move_out(std::vector<Spare>& spares, std::uint64_t wanted, std::vector<anyplace_physical>& pages) {
  for (const Spare& spare : spares) {
    if (wanted == 0 || !store.try_ensure(2)) return;
    const std::uint64_t count = std::min(wanted, spare.count);
    wanted -= unback(spare.block, spare.first + spare.count - count, count, pages);
  }
}

/// Unmaps pages of a free block; they are appended to `pages`, which has room. Uses two blocks of the store.
std::uint64_t Heap::State::unback(Block* block, std::uint64_t first, std::uint64_t count,
                                  std::vector<anyplace_physical>& pages) noexcept {
  Segment& segment = *block->segment;
  Arena& arena = *block->arena;
  const anyplace_address begin = segment.address + (first << page_shift);
  const std::uint64_t bytes = count << page_shift;
  if (!source.unmap(begin, bytes)) return 0;
  for (std::uint64_t i = first; i < first + count; ++i) {
    pages.push_back(segment.pages[i].physical);
    segment.pages[i].mapped = false;
  }
  remove_free(block);
  if (begin > block->address) {
    Block* rest = split_after(block, begin - block->address);
    add_free(block);
    block = rest;
  }
  if (block->bytes > bytes) add_free(split_after(block, bytes));
  block->backed = false;
  free_and_join(block);
  account(arena, segment, -static_cast<std::int64_t>(bytes));
  ++stats.num_device_free;
  settle(arena.key.small);
  user.note(TraceAction::segment_unmap, arena.key, begin, bytes);
  return count;
}

/// The other way round, after mapping. Returns the backed block that it is part of now.
Block* Heap::State::back_run(Block* hole, std::uint64_t first, std::uint64_t count) noexcept {
  Segment& segment = *hole->segment;
  Arena& arena = *hole->arena;
  const anyplace_address begin = segment.address + (first << page_shift);
  const std::uint64_t bytes = count << page_shift;
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
  ++stats.num_device_alloc;
  Block* block = free_and_join(hole);
  user.note(TraceAction::segment_map, arena.key, begin, bytes);
  return block;
}

/// Maps what the window lacks. False, or an exception: what was mapped by then is free memory, the other pages are
/// gone.
bool Heap::State::back(const Window& window, std::vector<anyplace_physical>& pages) {
  Segment& segment = *window.segment;
  Block* piece = window.before_hole != nullptr ? window.before_hole->after : segment.first;
  for (; is_free(piece) && piece->address < window.end; piece = piece->after) {
    if (piece->backed || end_of(piece) <= window.begin) continue;
    const std::uint64_t first = (std::max(piece->address, window.begin) - segment.address) >> page_shift;
    const std::uint64_t last = (std::min(end_of(piece), window.end) - segment.address + page - 1) >> page_shift;
    try {
      store.ensure(2);
      if (segment.pages.size() < last) segment.pages.resize(last);
    } catch (...) {
      discard(pages);
      throw;
    }
    std::uint64_t at = first;
    if (segment.pages[at].mapped_at != 0) rhythm.wanted_back(clock - segment.pages[at].mapped_at);
    for (; at < last; ++at) {
      assert(!pages.empty());
      result = source.map(segment.address + (at << page_shift), pages.back());
      if (result != SourceResult::done) break;
      segment.pages[at] = Page{pages.back(), clock, true};
      pages.pop_back();
    }
    if (at > first) piece = back_run(piece, first, at - first);
    if (at < last) {
      discard(pages);
      return false;
    }
  }
  assert(pages.empty());
  return true;
}

void Heap::State::discard(std::vector<anyplace_physical>& pages) noexcept {
  for (const anyplace_physical physical : pages) source.destroy(physical);
  pages.clear();
}

std::uint64_t Heap::State::release_pages(Arena& arena) noexcept {
  std::uint64_t released = 0;
  try {
    std::vector<Block*> blocks;
    arena.cached.for_each(page, [&](Block* block) { blocks.push_back(block); });
    std::vector<anyplace_physical> pages;
    for (Block* block : blocks) {
      std::uint64_t first = 0;
      const std::uint64_t count = whole_pages_in(block, &first);
      if (count == 0) continue;
      pages.reserve(count);
      store.ensure(2);
      released += unback(block, first, count, pages) << page_shift;
      discard(pages);
    }
  } catch (const std::bad_alloc&) {
    // The rest stays.
  }
  return released;
}

}  // namespace anyplace::detail
