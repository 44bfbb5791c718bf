// SPDX-License-Identifier: Apache-2.0
//
// Heap::State: the heap's parts, in three files: heap.cpp has what virtual memory and classic segments share,
// heap_virtual.cpp pages, heap_classic.cpp segments.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "address_index.h"
#include "arena.h"
#include "block_store.h"
#include "heap.h"
#include "rhythm.h"

namespace anyplace::detail {

struct ArenaKeyHash {
  std::size_t operator()(const ArenaKey& key) const noexcept {
    std::uint64_t x = (key.stream * 0x9e3779b97f4a7c15U) ^ (key.pool << 1U) ^ static_cast<std::uint64_t>(key.small);
    x *= 0xbf58476d1ce4e5b9U;
    return x ^ (x >> 32U);
  }
};

/// Where a request would go that needs pages: inside one hole, a run of free blocks.
struct Window {
  Segment* segment = nullptr;
  Block* before_hole = nullptr;  ///< the block before the hole; null: the hole begins the segment
  anyplace_address begin = 0;
  anyplace_address end = 0;
  std::uint64_t new_pages = 0;    ///< to be mapped
  std::uint64_t whole_pages = 0;  ///< free ones it takes up, mapped or not
  std::uint64_t hole = 0;         ///< bytes
};

/// A free block with whole pages that could move elsewhere.
struct Spare {
  Block* block = nullptr;
  std::uint64_t first = 0;  ///< of the segment's pages
  std::uint64_t count = 0;
};

struct Heap::State {
  State(MemorySource& source_in, HeapUser& user_in, StatTable& stats_in, const HeapOptions& options_in);

  MemorySource& source;
  HeapUser& user;
  StatTable& stats;
  HeapOptions options;
  std::uint64_t page = 0;  ///< bytes; 0: classic segments
  unsigned page_shift = 0;
  std::uint64_t slack = std::uint64_t{32} * 1024 * 1024;  ///< see moving_pays

  std::vector<std::unique_ptr<Arena>> arenas;
  std::unordered_map<ArenaKey, Arena*, ArenaKeyHash> by_key;
  std::unordered_map<std::uint64_t, std::unique_ptr<PoolBooks>> pools;
  std::map<anyplace_address, Segment*> segments;
  BlockStore store;
  AddressIndex index;
  Rhythm rhythm;

  std::uint64_t clock = 1;  ///< counts operations
  std::uint64_t reserved = 0;
  std::uint64_t handed_out = 0;  ///< bytes
  std::uint64_t most_handed_out = 0;
  SourceResult result = SourceResult::done;

  // -- Blocks. What changes free blocks collects the changes of the books in these two; settle() books them.
  std::int64_t split_count = 0;
  std::int64_t split_bytes = 0;
  void settle(bool small) noexcept;
  std::int64_t stuck_bytes(const Block* block) const noexcept;
  void add_free(Block* block) noexcept;                            ///< to its arena's index
  void remove_free(Block* block) noexcept;                         ///< from it
  Block* split_after(Block* block, std::uint64_t bytes) noexcept;  ///< the rest, linked, in no index; uses one block
  Block* join(Block* block, Block* after) noexcept;                ///< neither is in an index; ends `after`
  Block* free_and_join(Block* block) noexcept;                     ///< adds it, joined with neighbours of its backing
  Block* carve(Block* block, anyplace_address begin, std::uint64_t bytes);  ///< out of a free, backed block
  Block* first_block(Segment& segment, std::uint64_t bytes, bool backed) noexcept;

  // -- Arenas.
  PoolBooks& pool_of(std::uint64_t pool);
  bool idle(const Arena& arena) noexcept;
  void note_segments(const Arena& arena, TraceAction action) noexcept;
  std::uint64_t room(const Arena& arena) const noexcept;  ///< what the limits leave, in bytes
  void account(Arena& arena, Segment& segment, std::int64_t bytes) noexcept;
  bool moving_pays(std::uint64_t bytes) const noexcept;  ///< rather than growing by so much
  std::uint64_t release(const std::uint64_t* pool) noexcept;

  // -- Virtual memory.
  Block* take_virtual(Arena& arena, std::uint64_t bytes, Reach reach);
  bool find_window(Arena& arena, std::uint64_t bytes, bool save_pages, Window* window) const;
  Segment* reserve_range(Arena& arena, std::uint64_t bytes);
  bool gather(Arena& arena, const Window& window, Reach reach, std::vector<anyplace_physical>& pages);
  std::uint64_t find_spares(const Arena& for_arena, const Window* window, bool own_pool, std::vector<Spare>& spares);
  void move_out(std::vector<Spare>& spares, std::uint64_t wanted, std::vector<anyplace_physical>& pages);
  std::uint64_t unback(Block* block, std::uint64_t first, std::uint64_t count,
                       std::vector<anyplace_physical>& pages) noexcept;
  bool back(const Window& window, std::vector<anyplace_physical>& pages);
  Block* back_run(Block* hole, std::uint64_t first, std::uint64_t count) noexcept;
  void discard(std::vector<anyplace_physical>& pages) noexcept;
  std::uint64_t release_pages(Arena& arena) noexcept;
  std::uint64_t whole_pages_in(const Block* block, std::uint64_t* first) const noexcept;

  // -- Classic segments.
  Block* fit_classic(Arena& arena, std::uint64_t bytes) const noexcept;
  Block* take_classic(Arena& arena, std::uint64_t bytes, Reach reach);
  Block* add_segment(Arena& arena, std::uint64_t bytes);
  void drop_segment(Segment* segment) noexcept;
  std::uint64_t release_segments(Arena& arena) noexcept;
  std::uint64_t make_room(Arena& arena, std::uint64_t bytes, bool everything) noexcept;
};

}  // namespace anyplace::detail
