// SPDX-License-Identifier: Apache-2.0
//
// Arena: what the heap keeps for one stream in one pool, for small or for large requests. Segment: one range of its
// addresses. This is plain data with three invariants, which HeapState's functions keep:
//
// - A segment's blocks tile it, linked by address. No two free neighbours are both backed, or both unbacked.
// - An unbacked block is free, and begins and ends at a page. (Classic segments are backed throughout.)
// - A page is backed, that is, it is the home of the memory mapped there, if and only if a backed block reaches into
//   it.
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

/// A page of the device's memory. It backs one page of addresses at a time, its home. It may stay mapped where it was
/// at home before.
struct Physical {
  anyplace_physical handle = 0;
  Page* home = nullptr;      ///< null: new, or on its way from one home to another
  Page* mapped = nullptr;    ///< all pages of addresses where it is mapped, linked by `next`
  Physical* next = nullptr;  ///< while it is unused
  std::uint32_t number = 0;  ///< its place in the planner's notes; no two have the same
};

/// A page of a segment's addresses.
struct Page {
  Physical* physical = nullptr;  ///< the memory that is mapped there, at home or not; null: nothing
  Page* next = nullptr;          ///< the next page where the same memory is mapped
  Segment* segment = nullptr;
  std::uint64_t index = 0;  ///< in its segment

  bool backed() const noexcept { return physical != nullptr && physical->home == this; }
};

struct Segment {
  Arena* arena = nullptr;
  anyplace_address address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reserved = 0;  ///< bytes of it that are backed
  Block* first = nullptr;
  std::deque<Page> pages;  ///< those that were ever mapped and all below; none in classic segments. They don't move
};

/// The arenas of one MemoryPool, or of the common pool, together.
struct PoolTotals {
  std::uint64_t reserved = 0;
  std::uint64_t limit = UINT64_MAX;
  bool ended = false;  ///< kept only for the arenas that it left behind

  std::uint64_t room() const noexcept { return limit > reserved ? limit - reserved : 0; }
};

class Arena {
 public:
  ArenaKey key;
  PoolTotals* pool = nullptr;
  std::vector<std::unique_ptr<Segment>> segments;
  FreeIndex cached;    ///< its free blocks that are backed
  FreeIndex unbacked;  ///< its free blocks that aren't
  std::uint64_t cached_bytes = 0;
  std::uint64_t reserved = 0;
  std::uint64_t handed_out = 0;  ///< blocks that aren't free
  bool orphan = false;           ///< its stream or its pool is gone: no key leads to it
};

inline bool is_free(const Block* block) noexcept {
  return block != nullptr && block->use.load(std::memory_order_relaxed) == BlockUse::free;
}

/// It is all of its segment.
inline bool is_whole(const Block* block) noexcept { return block->before == nullptr && block->after == nullptr; }

inline anyplace_address end_of(const Block* block) noexcept { return block->address + block->bytes; }

}  // namespace anyplace::detail
