// SPDX-License-Identifier: Apache-2.0
//
// Arena: what the heap keeps for one stream in one pool, for small or for large requests. Segment: one range of
// addresses of it. Plain data; heap_state.h has what is done with them, and their invariants:
//
// - A segment's blocks tile it, linked by address. No two free neighbours are of the same backing.
// - What isn't backed is free, and begins and ends at a page. (Classic segments are backed throughout.)
// - A page is mapped if and only if a backed block reaches into it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "block.h"
#include "free_index.h"
#include "heap.h"

namespace anyplace::detail {

/// The memory behind one page of a segment.
struct Page {
  anyplace_physical physical = 0;
  std::uint64_t mapped_at = 0;  ///< the heap's clock, when it was mapped last; 0: never
  bool mapped = false;
};

struct Segment {
  Arena* arena = nullptr;
  anyplace_address address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reserved = 0;  ///< of them backed
  Block* first = nullptr;
  std::vector<Page> pages;  ///< as far as ever mapped; none in classic segments
};

/// The arenas of one MemoryPool, or of the common pool, together.
struct PoolBooks {
  std::uint64_t reserved = 0;
  std::uint64_t limit = UINT64_MAX;
};

class Arena {
 public:
  ArenaKey key;
  PoolBooks* pool = nullptr;
  std::vector<std::unique_ptr<Segment>> segments;
  FreeIndex cached;    ///< free and backed
  FreeIndex unbacked;  ///< free and not
  std::uint64_t cached_bytes = 0;
  std::uint64_t reserved = 0;
  std::uint64_t handed_out = 0;  ///< blocks that aren't free
  bool orphan = false;           ///< its stream is gone: always idle
};

inline bool is_free(const Block* block) noexcept {
  return block != nullptr && block->use.load(std::memory_order_relaxed) == BlockUse::free;
}

inline anyplace_address end_of(const Block* block) noexcept { return block->address + block->bytes; }

}  // namespace anyplace::detail
