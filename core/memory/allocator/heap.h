// SPDX-License-Identifier: Apache-2.0
//
// Heap: one device's memory, divided into blocks. It hands out blocks, takes them back, and asks the source for more.
// It knows neither threads nor the work of streams: its user (DeviceAllocator) locks, and says which arenas are idle.
//
// HeapState is its data, HeapPlanner decides, HeapExecutor acts. A heap has virtual memory or classic segments. With
// virtual memory an arena has ranges of addresses, which are backed page by page; otherwise it has a set of segments.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/allocator/block.h"
#include "memory/allocator/heap_options.h"
#include "memory/allocator/source.h"
#include "memory/figures/statistics.h"

namespace anyplace::detail {

/// The heap keeps these statistics in the table that it is given: segment (with virtual memory: ranges that have
/// memory), reserved_bytes, inactive_split (free memory in a page or segment that is also in use), oversize_*,
/// num_device_alloc and num_device_free. With virtual memory the last two count the requests for which something was
/// mapped and the ranges that were unmapped; moves without a call of the source aren't counted.
class Heap {
 public:
  Heap(MemorySource& source, HeapUser& user, StatTable& stats, HeapOptions options);
  ~Heap();                     ///< gives everything back to the source, taken or not
  Heap(const Heap&) = delete;  // it owns the device's memory
  Heap& operator=(const Heap&) = delete;

  bool uses_virtual_memory() const noexcept;
  /// Whether a refused request shows that the source's virtual memory doesn't work: nothing was ever mapped, and the
  /// source failed, or had no memory to map even when everything else was tried.
  bool virtual_memory_fails(Reach reach) const noexcept;
  std::uint64_t reserved_bytes() const noexcept;  ///< bytes of pages and segments held, in use or not
  std::uint64_t limit() const noexcept;
  void set_limit(std::uint64_t bytes) noexcept;  ///< limits reserved bytes; memory above it stays
  std::uint64_t reserved_bytes(std::uint64_t pool) const noexcept;
  void set_pool_limit(std::uint64_t pool, std::uint64_t bytes);  ///< limits one pool. Throws std::bad_alloc

  /// The arena of a key, made at first use. It exists until its stream or pool is orphaned. Throws std::bad_alloc.
  Arena& arena(const ArenaKey& key);
  const ArenaKey& key_of(const Arena& arena) const noexcept;
  std::uint64_t cached_bytes(const Arena& arena) const noexcept;

  /// Takes a block of `bytes` (a multiple of block_unit), or a bit more if the rest would be too small to be of use.
  /// Returns null if there is none; last_result() tells whether the source failed. Throws std::bad_alloc when the host
  /// has no memory; the heap is then unchanged, except that pages may have moved.
  Block* take(Arena& arena, std::uint64_t bytes, Reach reach);
  SourceResult last_result() const noexcept;
  /// Frees a block and joins it with its free neighbours.
  void give(Block* block) noexcept;
  /// The bytes that a request of `bytes` takes from the source at once, if no free memory serves it.
  std::uint64_t least_growth(bool small, std::uint64_t bytes) const noexcept;
  /// The other arena of the same pool and size class whose free memory fits best without a call of the source; null if
  /// there is none. It is for reuse across streams.
  Arena* find_lender(const Arena& arena, std::uint64_t bytes) noexcept;

  /// The taken or pending block that begins at the address; null if none does. It takes constant time, under the lock.
  Block* find(anyplace_address address) const noexcept;
  /// Looks up a block without the lock. It may miss a block that is being made. The result may be a block that begins
  /// less than block_unit from the address, or one that was freed meanwhile; its `out` tells.
  Block* find_near(anyplace_address address) const noexcept;
  /// The taken or pending block that contains the address; null if none does. Called under the lock. It looks at each
  /// MiB of the block before the address.
  Block* find_taken_around(anyplace_address address) const noexcept;
  /// The block in any state that contains the address, for messages; null if none does. Called under the lock.
  Block* find_around(anyplace_address address) const noexcept;

  /// Gives free whole segments or pages of idle arenas back to the source. Returns their bytes.
  std::uint64_t release_free() noexcept;
  /// Does that for one pool.
  std::uint64_t release_free(std::uint64_t pool) noexcept;
  /// The stream has been destroyed and its work is done: the free memory of its arenas goes to any other arena that
  /// asks; memory in use may be given back later.
  void orphan(std::uint64_t stream) noexcept;
  /// The pool has ended, and so has its limit. Work of its streams may be left, so its memory goes to arenas of the
  /// same stream, and to others when the user says that the stream is idle.
  void orphan_pool(std::uint64_t pool) noexcept;

  void describe(std::vector<SnapshotSegment>& segments) const;
  /// Checks every invariant, for tests. Throws std::logic_error that says which one is broken.
  void check() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace anyplace::detail
