// SPDX-License-Identifier: Apache-2.0
//
// Plan: how a heap will serve a request or give memory back: a list of moves. HeapPlanner makes plans, HeapExecutor
// makes their moves.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/allocator/arena.h"

namespace anyplace::detail {

enum class MoveKind : std::uint8_t {
  // Moves that the source may refuse. They change no block.
  reserve_range,     ///< the arena gets `bytes` of addresses, or fewer, but at least `least`
  allocate_segment,  ///< the arena gets a classic segment of `bytes`
  create_pages,      ///< `count` new pages of memory
  unmap,             ///< what is mapped at those pages isn't mapped there any more
  map,               ///< memory is mapped at those pages: the next of Plan::pages
  // Moves that change blocks.
  leave,          ///< pages of a free block are its own no more
  back,           ///< what is mapped at those pages is at home there from now on
  release_pages,  ///< pages of a free block go back to the source
  free_segment,   ///< a classic segment that is one free block goes back to the source
};

/// One move. `first` and `count` are pages of the segment.
struct Move {
  MoveKind kind{};
  Segment* segment = nullptr;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  Block* block = nullptr;   ///< leave, release_pages: the free block
  std::uint64_t bytes = 0;  ///< reserve_range, allocate_segment
  std::uint64_t least = 0;  ///< reserve_range
  friend bool operator==(const Move&, const Move&) = default;
};

/// What a plan comes to.
enum class PlanEnd : std::uint8_t {
  block,    ///< The request's place is free and backed after the last move.
  again,    ///< After the moves another plan is needed.
  refused,  ///< Not even these moves serve the request.
};

/// Where the request goes.
struct PlanPlace {
  Segment* segment = nullptr;    ///< null: the segment that the plan allocates, at its begin
  Block* before_hole = nullptr;  ///< the block before the run of free blocks that it lies in; null: the segment's begin
  anyplace_address begin = 0;
};

struct Plan {
  std::vector<Move> moves;
  std::vector<Physical*> pages;  ///< what is mapped, page by page, in the order of the moves; null: a new page
  std::uint64_t moved = 0;       ///< pages that leave one place for another
  std::uint64_t ahead = 0;       ///< new pages behind the place that the request doesn't need
  PlanPlace place;
  PlanEnd end = PlanEnd::refused;

  void clear() noexcept {
    moves.clear();
    pages.clear();
    moved = 0;
    ahead = 0;
    place = PlanPlace{};
    end = PlanEnd::refused;
  }
};

}  // namespace anyplace::detail
