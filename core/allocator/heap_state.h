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
#include "page_store.h"

namespace anyplace::detail {

struct ArenaKeyHash {
  std::size_t operator()(const ArenaKey& key) const noexcept {
    std::uint64_t x = (key.stream * 0x9e3779b97f4a7c15U) ^ (key.pool << 1U) ^ static_cast<std::uint64_t>(key.small);
    x *= 0xbf58476d1ce4e5b9U;
    return x ^ (x >> 32U);
  }
};

/// Where a request would go that no backed hole holds: inside one hole, a run of free blocks.
struct Window {
  Segment* segment = nullptr;
  Block* before_hole = nullptr;  ///< the block before the hole; null: the hole begins the segment
  anyplace_address begin = 0;
  anyplace_address end = 0;
  std::uint64_t switched = 0;     ///< pages whose memory is mapped there already, and free elsewhere
  std::uint64_t maps = 0;         ///< pages where nothing is mapped
  std::uint64_t remaps = 0;       ///< pages where memory is mapped that is in use elsewhere
  std::uint64_t whole_pages = 0;  ///< free ones it takes up, backed or not
  std::uint64_t hole = 0;         ///< bytes

  std::uint64_t calls() const noexcept { return maps + 2 * remaps; }
  std::uint64_t first_page(std::uint64_t page) const noexcept { return (begin - segment->address) / page; }
  std::uint64_t last_page(std::uint64_t page) const noexcept { return (end - segment->address + page - 1) / page; }
};

/// What a search for a window may do.
struct WindowLimits {
  std::uint64_t search = 0;  ///< pages that it may switch have this in free_in
  bool calls = false;        ///< the source may be called
  bool remap = false;        ///< mappings may be ended: no work uses the arena
  bool save_pages = false;   ///< what counts first is how few whole pages are taken up
};

/// The best place for `bytes` in an arena. False: there is none.
bool find_window(const Arena& arena, std::uint64_t bytes, std::uint64_t page, const WindowLimits& limits,
                 Window* window);

/// Free blocks that have whole pages, and what of these may go elsewhere.
struct Spares {
  std::vector<Block*> blocks;  ///< those unused for longest first
  std::uint64_t pages = 0;     ///< that may be moved
  std::uint64_t search = 0;
};

/// Pages on their way.
struct Hand {
  std::vector<Physical*> any;     ///< to wherever one is missing
  std::vector<Physical*> chosen;  ///< to where they are mapped already
};

struct Heap::State {
  State(MemorySource& source_in, HeapUser& user_in, StatTable& stats_in, const HeapOptions& options_in);

  MemorySource& source;
  HeapUser& user;
  StatTable& stats;
  HeapOptions options;
  std::uint64_t page = 0;  ///< bytes; 0: classic segments
  unsigned page_shift = 0;

  std::vector<std::unique_ptr<Arena>> arenas;
  std::unordered_map<ArenaKey, Arena*, ArenaKeyHash> by_key;
  std::unordered_map<std::uint64_t, std::unique_ptr<PoolBooks>> pools;
  std::map<anyplace_address, Segment*> segments;
  BlockStore store;
  AddressIndex index;
  std::uint64_t moved = 0;    ///< bytes
  bool ebb = false;           ///< much less is handed out than was
  std::uint64_t streams = 0;  ///< arenas for large requests that have memory
  std::uint64_t waves = 0;    ///< how often it came to nearly as much again

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
  void forget_pool(std::uint64_t pool) noexcept;  ///< if it has ended and has no arena any more
  bool idle(const Arena& arena) noexcept;
  void note_segments(const Arena& arena, TraceAction action) noexcept;
  std::uint64_t room(const Arena& arena) const noexcept;  ///< what the limits leave, in bytes
  void account(Arena& arena, Segment& segment, std::int64_t bytes) noexcept;
  bool may_grow(std::uint64_t bytes,
                std::uint64_t growth) const noexcept;  ///< rather than make do with what is free elsewhere
  std::uint64_t release(const std::uint64_t* pool) noexcept;

  // -- Virtual memory.
  PageStore pages;
  bool mapped_once = false;  ///< the source has mapped something
  bool map_refused = false;  ///< it had no memory for a mapping, of all things the first
  std::uint64_t searches = 0;
  Block* take_virtual(Arena& arena, std::uint64_t bytes, Reach reach);
  Segment* reserve_range(Arena& arena, std::uint64_t bytes);
  Spares find_spares(const Arena& for_arena, bool others, bool own_pool);
  bool gather(Arena& arena, const Window& window, Spares& spares, Reach reach, bool move, Hand& hand);
  void move_out(const Window& window, const Spares& spares, std::uint64_t wanted, Hand& hand) noexcept;
  Block* unback(Block* block, std::uint64_t first, std::uint64_t count) noexcept;
  Block* back_run(Block* hole, std::uint64_t first, std::uint64_t count) noexcept;
  bool back(const Window& window, std::uint64_t search, Hand& hand) noexcept;
  bool back_page(Page& at, std::uint64_t last, std::uint64_t search, Hand& hand, bool* mapped) noexcept;
  void put_back(Hand& hand) noexcept;
  bool map_page(Page& at, Physical* physical) noexcept;
  bool unmap_pages(Segment& segment, std::uint64_t first, std::uint64_t count) noexcept;
  void spoil(Segment& segment, std::uint64_t first, std::uint64_t count) noexcept;
  bool unmap_elsewhere(const Page& home);
  std::uint64_t release_pages(Arena& arena) noexcept;
  std::uint64_t whole_pages_in(const Block* block, std::uint64_t* first) const noexcept;

  // -- Classic segments.
  static std::uint64_t segment_bytes(bool small, std::uint64_t bytes) noexcept;
  Block* fit_classic(Arena& arena, std::uint64_t bytes) const noexcept;
  Block* take_classic(Arena& arena, std::uint64_t bytes, Reach reach);
  Block* add_segment(Arena& arena, std::uint64_t bytes);
  void drop_segment(Segment* segment) noexcept;
  std::uint64_t release_segments(Arena& arena) noexcept;
  std::uint64_t make_room(Arena& arena, std::uint64_t bytes, bool everything) noexcept;
};

}  // namespace anyplace::detail
