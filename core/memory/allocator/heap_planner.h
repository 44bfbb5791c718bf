// SPDX-License-Identifier: Apache-2.0
//
// HeapPlanner: decides how to serve a request that fits into no free block of its arena, and what goes back to the
// source. It reads the heap's state, asks the user which arenas are idle, and returns a list of moves. It changes only
// its own notes, and equal states have equal plans, so tests can check plans without a source.
//
// A page of memory that is free in one place serves another by being mapped there too. The first mapping stays: nothing
// uses its addresses until the page is free again and comes back, which takes no call of the source. So nothing has to
// be unmapped, which would have to wait for the stream's work; the stream's order is enough for both mappings.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/allocator/heap_options.h"
#include "memory/allocator/heap_plan.h"
#include "memory/allocator/heap_state.h"
#include "memory/allocator/page_notes.h"
#include "memory/allocator/window.h"

namespace anyplace::detail {

/// What earlier plans for the same request have shown about the source.
struct SourceNews {
  bool reserved = false;    ///< it gave a range of addresses
  bool refused = false;     ///< it had no memory for all that was planned
  std::uint64_t pages = 0;  ///< the pages that it did give, which are at hand
};

class HeapPlanner {
 public:
  HeapPlanner(const HeapState& state, HeapUser& user) noexcept : state_(state), user_(user) {}

  /// The arena's free block that a request of `bytes` fits into without a move; null if there is none.
  Block* find_fit(const Arena& arena, std::uint64_t bytes) const noexcept;
  /// Plans a request that fits into no block. The plan is valid until the next call. Throws std::bad_alloc.
  const Plan& plan_take(const Arena& arena, std::uint64_t bytes, Reach reach, const SourceNews& news);
  /// Plans to give free whole segments or pages of idle arenas back: those of one pool or, with null, of all. Throws
  /// std::bad_alloc.
  const Plan& plan_release(const std::uint64_t* pool);
  /// The bytes that a request takes from the source at once, if no free memory serves it.
  std::uint64_t least_growth(bool small, std::uint64_t bytes) const noexcept;

 private:
  bool idle(const Arena& arena) const noexcept { return user_.idle(arena.key); }
  std::uint64_t room_to_grow(std::uint64_t bytes) const noexcept;
  std::uint64_t growth_ahead(const Arena& arena, std::uint64_t bytes, std::uint64_t growth) const noexcept;
  bool may_release(const Arena& arena, const std::uint64_t* pool) const noexcept;
  std::uint64_t page_up(std::uint64_t bytes) const noexcept { return (bytes + state_.page - 1) & ~(state_.page - 1); }

  // -- Virtual memory, in heap_planner_virtual.cpp.
  struct Request {
    const Arena* arena = nullptr;
    std::uint64_t bytes = 0;
    Reach reach = Reach::cached;
    SourceNews news;
    bool own_pool = false;  ///< only pages of its own pool may serve it
    bool move = false;      ///< pages may move there from another place
    WindowLimits limits;
  };
  /// Where the pages come from that a window lacks.
  struct Supply {
    bool enough = false;
    std::uint64_t created = 0;  ///< new ones
    std::uint64_t moved = 0;    ///< free ones from elsewhere
  };
  void plan_virtual(Request request);
  void plan_place(Request& request, const Window* window);
  void plan_range(const Request& request);
  bool plan_window(const Request& request, Window window);
  std::uint64_t pages_ahead(const Request& request, const Window& window) const noexcept;
  std::uint64_t unmapped_behind(const Window& window, std::uint64_t wanted) const noexcept;
  const Window* find_window(const Request& request);
  void find_spares(const Request& request);
  void find_spares_of(const Arena& arena, bool movable);
  bool has_spares(const Arena& arena, const Request& request) const noexcept;
  bool is_crowded(std::uint64_t created, std::uint64_t ended) const noexcept;
  Supply choose_pages(const Request& request, const Window& window);
  std::uint64_t choose_switches(const Window& window);
  void forget_choice(const Window& window) noexcept;
  bool list_leaving(const Window& window, const Supply& supply);
  std::uint64_t leaving_run(const Window& window, const Segment& segment, std::uint64_t first, std::uint64_t last);
  void add_leaving(Block* block, std::uint64_t first, std::uint64_t count, std::uint64_t created);
  void list_mapping(const Window& window);
  bool is_in(const Window& window, const Page& at) const noexcept;
  void add_mapping(Segment& segment, std::uint64_t first, std::uint64_t count);
  void map_piece(Segment& segment, std::uint64_t first, std::uint64_t last);
  void plan_page_release(const Arena& arena);

  // -- Classic segments, in heap_planner_classic.cpp.
  void plan_classic(const Arena& arena, std::uint64_t bytes, Reach reach, const SourceNews& news);
  void free_for_growth(const Arena& arena, std::uint64_t wanted);
  void free_for_room(const Arena& arena, std::uint64_t wanted);
  void list_unused(const Arena& arena, std::uint64_t wanted);
  void add_free_segment(Segment* segment, const Arena& arena);
  void plan_segment_release(const std::uint64_t* pool);
  std::uint64_t room_after_plan(const Arena& arena) const noexcept;
  static std::uint64_t segment_bytes(bool small, std::uint64_t bytes) noexcept;

  const HeapState& state_;
  HeapUser& user_;
  Plan plan_;
  PageNotes notes_;
  /// The bytes that were reserved when the source last had no memory; it may have no more than these.
  std::uint64_t refused_at_ = UINT64_MAX;
  WindowSearch search_;

  // -- State of a plan with virtual memory.
  std::vector<Block*> spares_;     ///< free blocks with whole pages, those unused for longest first
  std::uint64_t movable_ = 0;      ///< pages of these blocks that may move
  std::uint64_t wanted_ = 0;       ///< pages to be moved that aren't found yet
  std::uint64_t chosen_ = 0;       ///< pages that return to where they are still mapped, and aren't found yet
  std::uint64_t ended_ = 0;        ///< mappings that the plan ends
  std::vector<Move> leaving_;      ///< the moves by which pages leave their places
  std::vector<Move> backing_;      ///< the moves by which pages get a home
  std::vector<Move> ending_;       ///< the moves that end the mappings of pages that left
  std::vector<Physical*> moving_;  ///< the pages to be mapped, the last first; null for a new page

  // -- State of a plan with classic segments.
  std::vector<Segment*> unused_;
  std::uint64_t freed_ = 0;  ///< bytes that the plan gives back
  std::uint64_t freed_in_pool_ = 0;
};

}  // namespace anyplace::detail
