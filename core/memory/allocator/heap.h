// SPDX-License-Identifier: Apache-2.0
//
// Heap: one device's memory, cut into blocks: it gives blocks out, takes them back, and asks the source for more. It
// knows neither threads nor streams' work: its user (DeviceAllocator) locks, and says which arenas are idle.
//
// HeapState is what it knows, HeapPlanner decides, HeapExecutor does. A heap has virtual memory or classic segments:
// with virtual memory an arena has ranges of addresses, which are backed page by page; without, a set of segments.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/allocator/block.h"
#include "memory/allocator/heap_options.h"
#include "memory/allocator/source.h"
#include "memory/figures/statistics.h"

namespace anyplace::detail {

/// Of the statistics it keeps, in the table that it is given: segment (with virtual memory: ranges that have memory),
/// reserved_bytes (all that is held), inactive_split (free, but of a page or segment that is also in use),
/// oversize_*, and num_device_alloc and num_device_free: with virtual memory, the requests for which something was
/// mapped and the ranges that were unmapped; moves without a call of the source count nothing.
class Heap {
 public:
  Heap(MemorySource& source, HeapUser& user, StatTable& stats, HeapOptions options);
  ~Heap();                     ///< gives everything back to the source, taken or not
  Heap(const Heap&) = delete;  // it owns the device's memory
  Heap& operator=(const Heap&) = delete;

  bool uses_virtual_memory() const noexcept;
  /// Whether, after a request that went so far was refused, the source's virtual memory has turned out to be of no use:
  /// nothing was ever mapped, and the source failed, or had no memory to map even when all else was tried.
  bool virtual_memory_fails(Reach reach) const noexcept;
  std::uint64_t reserved_bytes() const noexcept;  ///< pages and segments held, in use or not
  std::uint64_t limit() const noexcept;
  void set_limit(std::uint64_t bytes) noexcept;  ///< of what is reserved; what is beyond it stays
  std::uint64_t reserved_bytes(std::uint64_t pool) const noexcept;
  void set_pool_limit(std::uint64_t pool, std::uint64_t bytes);  ///< the same for one pool. Throws std::bad_alloc

  /// Made at first use; there until its stream or pool is orphaned. Throws std::bad_alloc.
  Arena& arena(const ArenaKey& key);
  const ArenaKey& key_of(const Arena& arena) const noexcept;
  std::uint64_t cached_bytes(const Arena& arena) const noexcept;

  /// A taken block of `bytes` (a multiple of block_unit) or, if what is left over is too little to be of use, a bit
  /// more. Null if that can't be had; `failed` of the source is told by last_result(). Throws std::bad_alloc when the
  /// host has no memory; the heap is as it was then, but for pages that moved.
  Block* take(Arena& arena, std::uint64_t bytes, Reach reach);
  SourceResult last_result() const noexcept;
  /// Ends a block; joins it with its free neighbours.
  void give(Block* block) noexcept;
  /// What a request of `bytes` takes from the source at a time, if no free memory serves it.
  std::uint64_t least_growth(bool small, std::uint64_t bytes) const noexcept;
  /// The other arena of the same pool and size class whose free memory fits best without a call of the source; null if
  /// none does. For reuse across streams.
  Arena* find_lender(const Arena& arena, std::uint64_t bytes) noexcept;

  /// The taken or pending block that begins there; null if none does. Constant time, under the lock.
  Block* find(anyplace_address address) const noexcept;
  /// The same without the lock: it may miss a block that is being made, and the block may be one that begins less than
  /// block_unit from there, or none any more. Its `out` says.
  Block* find_near(anyplace_address address) const noexcept;
  /// The taken or pending block that contains the address; null if none does. Under the lock. It looks at each MiB of
  /// the block before the address.
  Block* find_taken_around(anyplace_address address) const noexcept;
  /// The block of any use that contains the address, for messages; null if it isn't ours. Under the lock.
  Block* find_around(anyplace_address address) const noexcept;

  /// Gives back to the source what is free and whole (segments; pages) in idle arenas. Returns bytes.
  std::uint64_t release_free() noexcept;
  /// The same for one pool.
  std::uint64_t release_free(std::uint64_t pool) noexcept;
  /// Its stream is gone and no work of it is left: the free memory goes to any other arena that asks; what is still
  /// taken may be given later.
  void orphan(std::uint64_t stream) noexcept;
  /// The same for a pool that has ended; its limit goes. Work of its streams may be left: its memory goes to arenas of
  /// the same stream, and to others when the user says that the stream is idle.
  void orphan_pool(std::uint64_t pool) noexcept;

  void describe(std::vector<SnapshotSegment>& segments) const;
  /// Every invariant, for tests. Throws std::logic_error that says which is broken.
  void check() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace anyplace::detail
