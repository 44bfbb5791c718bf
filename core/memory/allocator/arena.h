// SPDX-License-Identifier: Apache-2.0
//
// Arena: the memory that the heap keeps for one stream in one pool, for small or for large requests. Segment: one range
// of an arena's addresses. They are plain data with three invariants, which HeapState's functions keep:
//
// - A segment's blocks tile it, linked by address. Of two free neighbours one is backed and the other isn't.
// - An unbacked block is free, and begins and ends at a page. (Classic segments are backed throughout.)
// - A page of addresses is backed (it is the home of the memory that is mapped there) if and only if a backed block
//   reaches into it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "memory/allocator/arena_key.h"
#include "memory/allocator/block.h"
#include "memory/allocator/free_index.h"

namespace anyplace::detail {

struct Page;

/// A page of the device's memory. It backs one page of addresses at a time, its home. It may stay mapped where its home
/// was before.
struct Physical {
  anyplace_physical handle = 0;
  Page* home = nullptr;      ///< null if it is new, or while it moves from one home to another
  Page* mapped = nullptr;    ///< list of all pages of addresses where it is mapped, linked by `next`
  Physical* next = nullptr;  ///< links unused ones
  std::uint32_t number = 0;  ///< its index in the planner's notes, which no other has
};

/// A page of a segment's addresses.
struct Page {
  Physical* physical = nullptr;  ///< the memory that is mapped there, at home or not; null if none is
  Page* next = nullptr;          ///< the next page where the same memory is mapped
  Segment* segment = nullptr;
  std::uint64_t index = 0;  ///< the page's position in its segment

  bool backed() const noexcept { return physical != nullptr && physical->home == this; }
};

struct Segment {
  Arena* arena = nullptr;
  anyplace_address address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reserved = 0;  ///< bytes of the segment that are backed
  Block* first = nullptr;
  /// All pages up to the last that was ever mapped; none in classic segments. Their addresses don't change.
  std::deque<Page> pages;
};

/// Totals over the arenas of one MemoryPool, or of the common pool.
struct PoolTotals {
  std::uint64_t reserved = 0;
  std::uint64_t limit = UINT64_MAX;
  bool ended = false;  ///< the pool has ended, but arenas are left of it

  std::uint64_t room() const noexcept { return limit > reserved ? limit - reserved : 0; }
};

class Arena {
 public:
  ArenaKey key;
  PoolTotals* pool = nullptr;
  std::vector<std::unique_ptr<Segment>> segments;
  FreeIndex cached;    ///< free blocks that are backed
  FreeIndex unbacked;  ///< free blocks that aren't
  std::uint64_t cached_bytes = 0;
  std::uint64_t reserved = 0;
  std::uint64_t handed_out = 0;  ///< blocks that aren't free
  bool orphan = false;           ///< its stream or pool is gone, so no key leads to it
};

inline bool is_free(const Block* block) noexcept {
  return block != nullptr && block->use.load(std::memory_order_relaxed) == BlockUse::free;
}

/// Whether the block is all of its segment.
inline bool is_whole(const Block* block) noexcept { return block->before == nullptr && block->after == nullptr; }

inline anyplace_address end_of(const Block* block) noexcept { return block->address + block->bytes; }

}  // namespace anyplace::detail
