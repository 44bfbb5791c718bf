// SPDX-License-Identifier: Apache-2.0
//
// Arena: what the heap keeps for one stream in one pool, for small or for large requests. Segment: one range of
// addresses of it. Plain data; heap_state.h has what is done with them, and their invariants:
//
// - A segment's blocks tile it, linked by address. No two free neighbours are of the same backing.
// - What isn't backed is free, and begins and ends at a page. (Classic segments are backed throughout.)
// - A page is backed, that is, the home of the memory mapped there, if and only if a backed block reaches into it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "block.h"
#include "free_index.h"
#include "heap.h"

namespace anyplace::detail {

struct Page;

/// A page of the device's memory. It backs one page of addresses at a time, its home; where it was before, it stays
/// mapped.
struct Physical {
  anyplace_physical handle = 0;
  Page* home = nullptr;         ///< null: on its way from one to another
  Page* mapped = nullptr;       ///< all pages of addresses where it is mapped, linked by `next`
  std::uint64_t free_in = 0;    ///< the search that found it free
  std::uint64_t seen_in = 0;    ///< the last candidate for a window that counted on it
  std::uint64_t wanted_in = 0;  ///< the last search that chose it for where it is mapped already
  bool movable = false;         ///< as that search found
  Physical* next = nullptr;     ///< when it is nobody's
};

/// A page of a segment's addresses.
struct Page {
  Physical* physical = nullptr;  ///< what is mapped there, at home or not; null: nothing
  Page* next = nullptr;
  Segment* segment = nullptr;
  std::uint64_t index = 0;  ///< in its segment

  bool backed() const noexcept { return physical != nullptr && physical->home == this; }
};

struct Segment {
  Arena* arena = nullptr;
  anyplace_address address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reserved = 0;  ///< of them backed
  Block* first = nullptr;
  std::deque<Page> pages;  ///< as far as ever mapped; none in classic segments. Pages stay where they are
};

/// The arenas of one MemoryPool, or of the common pool, together.
struct PoolBooks {
  std::uint64_t reserved = 0;
  std::uint64_t limit = UINT64_MAX;
  bool ended = false;  ///< kept only for the arenas that it left behind
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
  bool orphan = false;           ///< its stream or its pool is gone: no key leads to it
};

inline bool is_free(const Block* block) noexcept {
  return block != nullptr && block->use.load(std::memory_order_relaxed) == BlockUse::free;
}

inline anyplace_address end_of(const Block* block) noexcept { return block->address + block->bytes; }

}  // namespace anyplace::detail
