// SPDX-License-Identifier: Apache-2.0
//
// Plans with virtual memory: they choose the place of a request, and the pages that the place lacks.
#include <algorithm>
#include <cassert>
#include <deque>

#include "memory/allocator/heap_planner.h"

namespace anyplace::detail {
namespace {

// The addresses that an arena reserves at once. They cost nothing until they are mapped, so one range should last,
// because a request can't reach across two. The sizes are guesses: few streams have 64 GiB at a time, and 2,000 such
// ranges fit into 47 bits of addresses; small requests seldom come to 1 GiB. If a source refuses, it is asked for half
// as much each time, down to what the request needs.
constexpr std::uint64_t large_range = std::uint64_t{64} << 30U;
constexpr std::uint64_t small_range = std::uint64_t{1} << 30U;

/// How many mappings there may be beyond two for each page. Above it, pages that move also end the mapping that they
/// leave. The driver pays for each mapping, and Linux allows a process 65,530 (vm.max_map_count). The number is a
/// guess: 1024 are those of 2 GiB. The GPT-2 traces never have as many; random sizes on eight streams make 0.1 % more
/// calls with 0, and 1.5 % fewer with 8,192.
constexpr std::uint64_t spare_mappings = 1024;

/// The divisor of the room under the limits, and of the last known room of the source, that gives the most to map
/// ahead. The rest is for others: a page that is mapped ahead for one stream can go to another only when no work uses
/// the first one's memory. The number is a guess.
constexpr std::uint64_t room_part = 16;

}  // namespace

// -- The place -------------------------------------------------------------------------------------------------------

void HeapPlanner::plan_virtual(Request request) {
  const bool calls = request.reach != Reach::cached;
  if (!calls && state_.pages.mappings == state_.pages.held) return;  // no memory is mapped anywhere but at home
  const PoolTotals& pool = *request.arena->pool;
  request.own_pool = pool.limit != UINT64_MAX && pool.limit < pool.reserved + request.bytes + state_.page;
  request.move = request.reach == Reach::scavenge;
  find_spares(request);
  request.limits = {calls, calls && idle(*request.arena), false};
  const Window* const window = find_window(request);
  if (window != nullptr) {
    plan_place(request, window);
  } else if (calls && !request.news.reserved) {
    plan_range(request);
  }
}

/// Plans to put the request into the window or, if that isn't possible or wastes too much, into a better one.
void HeapPlanner::plan_place(Request& request, const Window* window) {
  const std::uint64_t growth = window->lacking() << state_.page_shift;
  if (growth > room_to_grow(request.bytes) && !request.move) {
    request.move = true;
    find_spares(request);
    window = find_window(request);
    if (window == nullptr) return;
  }
  if (plan_window(request, *window) || request.reach != Reach::scavenge) return;
  // The window that lacks the fewest pages may itself occupy the pages that could move there.
  request.limits.save_pages = true;
  window = find_window(request);
  if (window != nullptr) plan_window(request, *window);
}

void HeapPlanner::plan_range(const Request& request) {
  const std::uint64_t chosen = state_.options.address_space;
  const std::uint64_t least = page_up(request.bytes);
  const std::uint64_t wanted = page_up(chosen != 0 ? chosen : request.arena->key.small ? small_range : large_range);
  plan_.moves.push_back({.kind = MoveKind::reserve_range, .bytes = std::max(least, wanted), .least = least});
  plan_.end = PlanEnd::again;
}

const Window* HeapPlanner::find_window(const Request& request) {
  return search_.find(*request.arena, request.bytes, state_.page, request.limits, notes_);
}

// -- The pages -------------------------------------------------------------------------------------------------------

/// Finds the arena's free whole pages and, if pages may move, those of other idle arenas.
void HeapPlanner::find_spares(const Request& request) {
  notes_.start(state_.pages.numbers());
  spares_.clear();
  movable_ = 0;
  for (const auto& arena : state_.arenas) {
    if (!has_spares(*arena, request)) continue;
    find_spares_of(*arena, request.move && (!is_crowded(0, 0) || idle(*arena)));
  }
  std::sort(spares_.begin(), spares_.end(), [](const Block* a, const Block* b) {
    if (a->arena->orphan != b->arena->orphan) return a->arena->orphan;
    return a->freed_at != b->freed_at ? a->freed_at < b->freed_at : a->address < b->address;
  });
}

bool HeapPlanner::has_spares(const Arena& arena, const Request& request) const noexcept {
  const bool own = &arena == request.arena;
  if (arena.cached_bytes < state_.page || (request.own_pool && arena.pool != request.arena->pool)) return false;
  return own || (request.move && idle(arena));
}

void HeapPlanner::find_spares_of(const Arena& arena, bool movable) {
  arena.cached.for_each(state_.page, [&](Block* block) {
    std::uint64_t first = 0;
    const std::uint64_t count = state_.whole_pages_in(block, &first);
    if (count == 0) return;
    spares_.push_back(block);
    if (movable) movable_ += count;
    for (std::uint64_t i = first; i < first + count; ++i) {
      notes_.found_free(*block->segment->pages[i].physical, movable);
    }
  });
}

/// Whether there are so many mappings that a page should end its mapping when it leaves its place.
bool HeapPlanner::is_crowded(std::uint64_t created, std::uint64_t ended) const noexcept {
  return state_.pages.mappings - ended >= 2 * (state_.pages.held + created) + spare_mappings;
}

/// How many new pages are mapped behind the window before any request needs them. There are some only if the window
/// needs new pages anyway, no page has to move for it, and the source hasn't refused yet.
std::uint64_t HeapPlanner::pages_ahead(const Request& request, const Window& window) const noexcept {
  const Arena& arena = *request.arena;
  if (request.reach != Reach::grow || request.move || request.news.refused || arena.key.small) return 0;
  if (window.maps == 0 || window.remaps != 0) return 0;
  const std::uint64_t needed = window.lacking() << state_.page_shift;
  const auto behind_need = [needed](std::uint64_t room) { return room - std::min(room, needed); };
  const std::uint64_t known_room = std::min(state_.room(arena), refused_at_ - std::min(refused_at_, state_.reserved));
  const std::uint64_t bytes = std::min({growth_ahead(arena, request.bytes, needed),
                                        behind_need(room_to_grow(request.bytes)), behind_need(known_room) / room_part});
  return unmapped_behind(window, bytes >> state_.page_shift);
}

/// How many of the next `wanted` pages behind the window, in the same hole, have nothing mapped.
std::uint64_t HeapPlanner::unmapped_behind(const Window& window, std::uint64_t wanted) const noexcept {
  if (wanted == 0) return 0;
  const Segment& segment = *window.segment;
  const std::uint64_t first = window.last_page(state_.page);
  const anyplace_address begin = state_.address_of(segment, first);
  const Block* piece = window.before_hole != nullptr ? window.before_hole->after : segment.first;
  while (is_free(piece) && end_of(piece) <= begin) piece = piece->after;
  if (!is_free(piece) || piece->backed) return 0;
  const std::uint64_t end = std::min(first + wanted, (end_of(piece) - segment.address) >> state_.page_shift);
  std::uint64_t last = first;
  while (last < end && (last >= segment.pages.size() || segment.pages[last].physical == nullptr)) ++last;
  return last - first;
}

/// Plans to put the request into the window. Returns false, and plans nothing, if there aren't enough pages.
bool HeapPlanner::plan_window(const Request& request, Window window) {
  const std::uint64_t ahead = pages_ahead(request, window);
  if (ahead != 0) {
    window.end = state_.address_of(*window.segment, window.last_page(state_.page) + ahead);
    window.maps += ahead;
  }
  const Supply supply = choose_pages(request, window);
  if (!supply.enough || !list_leaving(window, supply)) {
    forget_choice(window);
    return false;
  }
  if (supply.created != 0) plan_.moves.push_back({.kind = MoveKind::create_pages, .count = supply.created});
  backing_.clear();
  list_mapping(window);
  // Moves that the source may refuse come first, moves that only clean up come last.
  for (const std::vector<Move>* some : {&leaving_, &backing_, &ending_}) {
    plan_.moves.insert(plan_.moves.end(), some->begin(), some->end());
  }
  plan_.moved = supply.moved;
  plan_.ahead = ahead;
  plan_.place = {window.segment, window.before_hole, window.begin};
  plan_.end = PlanEnd::block;
  return true;
}

bool HeapPlanner::is_in(const Window& window, const Page& at) const noexcept {
  return at.segment == window.segment && at.index >= window.first_page(state_.page) &&
         at.index < window.last_page(state_.page);
}

/// Chooses the free pages that return to where they are still mapped, and where the other pages come from.
HeapPlanner::Supply HeapPlanner::choose_pages(const Request& request, const Window& window) {
  const std::uint64_t movable = movable_ - std::min(movable_, choose_switches(window));
  const std::uint64_t need = window.lacking();
  const std::uint64_t limit = state_.room(*request.arena) >> state_.page_shift;
  const std::uint64_t room = request.news.refused ? std::min(limit, request.news.pages) : limit;
  Supply supply;
  supply.enough = movable >= need || room >= need - movable;
  // As the last resort new pages are preferred, because the pages that are free elsewhere may be all that other
  // requests can get.
  const std::uint64_t preferred = request.reach == Reach::scavenge ? 0 : std::min(movable, need);
  supply.created = std::min(need - preferred, room);
  supply.moved = need - supply.created;
  return supply;
}

/// Returns how many of the movable pages can't move any more, because they stay in the window or return there.
std::uint64_t HeapPlanner::choose_switches(const Window& window) {
  const std::deque<Page>& pages = window.segment->pages;
  const std::uint64_t last = std::min<std::uint64_t>(window.last_page(state_.page), pages.size());
  std::uint64_t used = 0;
  chosen_ = 0;
  for (std::uint64_t i = window.first_page(state_.page); i < last; ++i) {
    const Physical* const physical = pages[i].physical;
    if (physical == nullptr || !notes_.is_free(*physical)) continue;
    PageNote& note = notes_.of(*physical);
    const bool stays = is_in(window, *physical->home);
    const bool counted = stays ? physical->home->index != i : note.chosen;  // at another page of the window
    if (counted) continue;
    if (note.movable) ++used;
    if (stays) continue;
    note.chosen = true;
    ++chosen_;
  }
  assert(chosen_ == window.switched);
  return used;
}

void HeapPlanner::forget_choice(const Window& window) noexcept {
  const std::deque<Page>& pages = window.segment->pages;
  const std::uint64_t last = std::min<std::uint64_t>(window.last_page(state_.page), pages.size());
  for (std::uint64_t i = window.first_page(state_.page); i < last; ++i) {
    if (pages[i].physical != nullptr) notes_.of(*pages[i].physical).chosen = false;
  }
}

/// Lists the pages that leave their places: the chosen ones, and as many more as are to be moved, those of the first
/// spares first. Returns false if there aren't enough.
bool HeapPlanner::list_leaving(const Window& window, const Supply& supply) {
  leaving_.clear();
  ending_.clear();
  moving_.assign(supply.created, nullptr);
  wanted_ = supply.moved;
  ended_ = 0;
  for (Block* block : spares_) {
    if (wanted_ == 0 && chosen_ == 0) break;
    std::uint64_t first = 0;
    std::uint64_t last = state_.whole_pages_in(block, &first);
    last += first;
    // Pages are taken from the end, so that the rest of the block stays in one piece.
    while (last > first) {
      const std::uint64_t begin = leaving_run(window, *block->segment, first, last);
      if (begin < last) {
        add_leaving(block, begin, last - begin, supply.created);
        last = begin;
      } else {
        --last;
      }
    }
  }
  return wanted_ == 0;
}

/// The beginning of the run of leaving pages that ends before `last`; `last` if there is none.
std::uint64_t HeapPlanner::leaving_run(const Window& window, const Segment& segment, std::uint64_t first,
                                       std::uint64_t last) {
  while (last > first && !is_in(window, segment.pages[last - 1])) {
    Physical* const physical = segment.pages[last - 1].physical;
    const PageNote& note = notes_.of(*physical);
    if (note.chosen) {
      --chosen_;
    } else if (wanted_ > 0 && note.movable) {
      moving_.push_back(physical);
      --wanted_;
    } else {
      break;
    }
    --last;
  }
  return last;
}

void HeapPlanner::add_leaving(Block* block, std::uint64_t first, std::uint64_t count, std::uint64_t created) {
  if (is_crowded(created, ended_) && idle(*block->arena)) {
    ending_.push_back({.kind = MoveKind::unmap, .segment = block->segment, .first = first, .count = count});
    ended_ += count;
  }
  leaving_.push_back(
      {.kind = MoveKind::leave, .segment = block->segment, .first = first, .count = count, .block = block});
}

/// Lists the moves for each unbacked piece of the window.
void HeapPlanner::list_mapping(const Window& window) {
  Segment& segment = *window.segment;
  const std::uint64_t from = window.first_page(state_.page);
  const std::uint64_t to = window.last_page(state_.page);
  const Block* piece = window.before_hole != nullptr ? window.before_hole->after : segment.first;
  for (; is_free(piece) && piece->address < window.end; piece = piece->after) {
    if (piece->backed || end_of(piece) <= window.begin) continue;
    const std::uint64_t first = std::max(from, (piece->address - segment.address) >> state_.page_shift);
    const std::uint64_t last = std::min(to, (end_of(piece) - segment.address) >> state_.page_shift);
    map_piece(segment, first, last);
    backing_.push_back({.kind = MoveKind::back, .segment = &segment, .first = first, .count = last - first});
  }
}

/// Lists the moves for a piece. Some of its pages return to where they are still mapped. At the others something has to
/// be mapped, after adjoining mappings that are in the way were unmapped in one call.
void HeapPlanner::map_piece(Segment& segment, std::uint64_t first, std::uint64_t last) {
  const auto mapped_at = [&](std::uint64_t at) {
    return at < segment.pages.size() ? segment.pages[at].physical : nullptr;
  };
  const auto is_chosen = [&](const Physical* physical) { return physical != nullptr && notes_.is_chosen(*physical); };
  while (first < last) {
    Physical* const here = mapped_at(first);
    if (is_chosen(here)) {
      notes_.of(*here).chosen = false;  // it returns here, and not at a later page where it is mapped as well
      ++first;
      continue;
    }
    std::uint64_t end = first + 1;
    while (end < last && (mapped_at(end) != nullptr) == (here != nullptr) && !is_chosen(mapped_at(end))) ++end;
    if (here != nullptr) {
      plan_.moves.push_back({.kind = MoveKind::unmap, .segment = &segment, .first = first, .count = end - first});
    }
    add_mapping(segment, first, end - first);
    first = end;
  }
}

void HeapPlanner::add_mapping(Segment& segment, std::uint64_t first, std::uint64_t count) {
  plan_.moves.push_back({.kind = MoveKind::map, .segment = &segment, .first = first, .count = count});
  for (; count > 0; --count) {
    plan_.pages.push_back(moving_.back());
    moving_.pop_back();
  }
}

// -- Giving back -----------------------------------------------------------------------------------------------------

/// Plans to release the whole pages of each free block, after their mappings elsewhere were unmapped.
void HeapPlanner::plan_page_release(const Arena& arena) {
  arena.cached.for_each(state_.page, [&](Block* block) {
    std::uint64_t first = 0;
    const std::uint64_t count = state_.whole_pages_in(block, &first);
    if (count == 0) return;
    Segment& segment = *block->segment;
    for (std::uint64_t i = first + count; i > first; --i) {
      const Page& home = segment.pages[i - 1];
      for (const Page* at = home.physical->mapped; at != nullptr; at = at->next) {
        if (at == &home) continue;
        plan_.moves.push_back({.kind = MoveKind::unmap, .segment = at->segment, .first = at->index, .count = 1});
      }
    }
    plan_.moves.push_back(
        {.kind = MoveKind::release_pages, .segment = &segment, .first = first, .count = count, .block = block});
  });
}

}  // namespace anyplace::detail
