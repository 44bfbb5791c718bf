// SPDX-License-Identifier: Apache-2.0
//
// HeapState: the data of a heap: arenas, segments, blocks, pages and their totals; and the changes that keep its
// invariants (arena.h). It decides nothing and calls neither the source nor the user: HeapPlanner decides, HeapExecutor
// calls.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memory/allocator/address_index.h"
#include "memory/allocator/arena.h"
#include "memory/allocator/block_store.h"
#include "memory/allocator/heap_options.h"
#include "memory/allocator/page_store.h"

namespace anyplace::detail {

/// How the program uses its memory, for the planner. The half and the three quarters that define ebbs and waves are
/// guesses: the memory of a training step falls to a fraction and rises to the same maximum again.
struct Usage {
  std::uint64_t handed_out = 0;  ///< bytes
  std::uint64_t most_handed_out = 0;
  bool ebb = false;           ///< since the last wave less than half of the most was handed out
  std::uint64_t waves = 0;    ///< how often it rose to three quarters of the most after an ebb
  std::uint64_t moved = 0;    ///< bytes of free memory that moved from one place to another
  std::uint64_t streams = 0;  ///< arenas for large requests that have memory

  void hand_out(std::uint64_t bytes) noexcept {
    handed_out += bytes;
    if (handed_out > most_handed_out) most_handed_out = handed_out;
    if (ebb && handed_out > most_handed_out - most_handed_out / 4) {
      ebb = false;
      ++waves;
    }
  }
  void take_back(std::uint64_t bytes) noexcept {
    handed_out -= bytes;
    if (handed_out < most_handed_out / 2) ebb = true;
  }
};

struct HeapState {
  /// `page_bytes` is 0 for classic segments, otherwise a power of two.
  HeapState(StatTable& stats_in, const HeapOptions& options_in, std::uint64_t page_bytes);

  StatTable& stats;
  HeapOptions options;
  std::uint64_t page;  ///< bytes of a page; 0 for classic segments
  unsigned page_shift = 0;

  std::vector<std::unique_ptr<Arena>> arenas;
  std::unordered_map<ArenaKey, Arena*, ArenaKeyHash> by_key;
  std::unordered_map<std::uint64_t, std::unique_ptr<PoolTotals>> pools;
  std::map<anyplace_address, Segment*> segments;
  BlockStore store;
  AddressIndex index;
  PageStore pages;
  Usage usage;
  std::uint64_t clock = 1;  ///< counts operations
  std::uint64_t reserved = 0;

  // -- Blocks. Each change of free blocks collects the changes of the statistics, which settle() adds.
  std::int64_t split_count = 0;
  std::int64_t split_bytes = 0;
  void settle(bool small) noexcept;
  std::int64_t stuck_bytes(const Block* block) const noexcept;
  void add_free(Block* block) noexcept;     ///< adds it to its arena's index
  void remove_free(Block* block) noexcept;  ///< removes it from its arena's index
  /// Returns the rest of the block, which is linked but in no index. Needs one block.
  Block* split_after(Block* block, std::uint64_t bytes) noexcept;
  Block* join(Block* block, Block* after) noexcept;  ///< ends `after`; neither is in an index
  /// Adds a block, joined with its free neighbours that are backed as it is.
  Block* free_and_join(Block* block) noexcept;
  /// Cuts [begin, begin + bytes) out of a free block that is in no index. Returns that part, which is in no index, and
  /// adds the rest. Needs two blocks.
  Block* cut_out(Block* block, anyplace_address begin, std::uint64_t bytes) noexcept;
  /// Makes a taken block out of a free, backed one. Throws std::bad_alloc; then nothing has changed.
  Block* carve(Block* block, anyplace_address begin, std::uint64_t bytes);
  void give(Block* block) noexcept;  ///< frees a taken block

  // -- Arenas and pools.
  PoolTotals& pool_of(std::uint64_t pool);                ///< made at first use. Throws std::bad_alloc
  void forget_pool(std::uint64_t pool) noexcept;          ///< if it has ended and has no arena left
  std::uint64_t room(const Arena& arena) const noexcept;  ///< bytes that the limits leave
  void account(Arena& arena, Segment& segment, std::int64_t bytes) noexcept;  ///< counts `bytes` more as reserved

  // -- Segments.
  /// Adds a segment that is one free block. Throws std::bad_alloc; then nothing has changed.
  Block* add_segment(Arena& arena, anyplace_address address, std::uint64_t bytes, bool backed);
  void remove_segment(Segment* segment) noexcept;  ///< a classic one that is one free block
  /// Calls `visit` for each segment, in the order of the arenas' and the segments' making. Addresses differ from
  /// machine to machine, so what calls the source can't go by them: traces of virtual time are the same everywhere.
  template <class Visit>
  void for_each_segment(Visit visit) const {
    for (const auto& arena : arenas) {
      for (const auto& segment : arena->segments) visit(std::as_const(*segment));
    }
  }

  // -- Pages.
  /// The number of whole pages in a block; `first` becomes the index of the first one.
  std::uint64_t whole_pages_in(const Block* block, std::uint64_t* first) const noexcept;
  anyplace_address address_of(const Segment& segment, std::uint64_t page_index) const noexcept {
    return segment.address + (page_index << page_shift);
  }
  static void extend_pages(Segment& segment, std::uint64_t count);                   ///< throws std::bad_alloc
  void attach(Page& at, Physical* physical) noexcept;                                ///< it is mapped there now
  void detach(Segment& segment, std::uint64_t first, std::uint64_t count) noexcept;  ///< nothing is mapped there now
  /// Removes pages from a free block; they stay mapped. Needs two blocks.
  void leave(Block* block, std::uint64_t first, std::uint64_t count) noexcept;
  /// Makes pages of an unbacked block the home of what is mapped there. Returns the backed block that they are part of
  /// now. Needs two blocks.
  Block* back(Block* hole, std::uint64_t first, std::uint64_t count) noexcept;
  /// Takes unbacked addresses out of use for good; memory may still be mapped there. Needs two blocks.
  void spoil(Segment& segment, std::uint64_t first, std::uint64_t count) noexcept;

 private:
  Block* first_block(Segment& segment, bool backed) noexcept;
};

}  // namespace anyplace::detail
