// SPDX-License-Identifier: Apache-2.0
//
// Plan: a list of moves by which a heap serves a request or gives memory back. HeapPlanner makes plans, HeapExecutor
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
  unmap,             ///< what is mapped at those pages is unmapped there
  map,               ///< the next ones of Plan::pages are mapped at those pages
  // Moves that change blocks.
  leave,          ///< pages leave a free block, which has fewer then; they stay mapped
  back,           ///< those pages become the home of what is mapped there
  release_pages,  ///< pages of a free block go back to the source
  free_segment,   ///< a classic segment that is one free block goes back to the source
};

/// One move. `first` and `count` are pages of the segment.
struct Move {
  MoveKind kind{};
  Segment* segment = nullptr;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  Block* block = nullptr;   ///< the free block of leave and release_pages
  std::uint64_t bytes = 0;  ///< for reserve_range and allocate_segment
  std::uint64_t least = 0;  ///< for reserve_range
  friend bool operator==(const Move&, const Move&) = default;
};

/// How a plan ends.
enum class PlanEnd : std::uint8_t {
  block,    ///< the request's place is free and backed after the last move
  again,    ///< after the moves another plan is needed
  refused,  ///< no moves can serve the request
};

/// The place of the request.
struct PlanPlace {
  Segment* segment = nullptr;  ///< null: at the beginning of the segment that the plan allocates
  /// The block before the run of free blocks that has the place; null at the segment's beginning.
  Block* before_hole = nullptr;
  anyplace_address begin = 0;
};

struct Plan {
  std::vector<Move> moves;
  /// The pages to be mapped, in the order of the moves; null stands for a new page.
  std::vector<Physical*> pages;
  std::uint64_t moved = 0;  ///< pages that move from one place to another
  std::uint64_t ahead = 0;  ///< new pages behind the place that the request doesn't need
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
