// SPDX-License-Identifier: Apache-2.0
//
// Bins: the allocator's fast path, a cache for each thread. A block that a thread frees on a stream serves the thread's
// next request of the same size, without a lock and without a locked instruction. A ThreadBins belongs to one thread on
// one device and has a Line for each stream and pool that the thread has allocated from lately; a line has lists of
// blocks, last in first out, by size.
//
// The protocol: the owner uses its bins between enter() and leave(). A thread that holds the allocator's lock takes the
// bins away from it with a Revocation:
//
//   owner    1  busy := true        (a plain store)
//            2  read revoked; if it is set, busy := false and go the slow path
//            3  work
//            4  busy := false       (release)
//   revoker  1  set revoked
//            2  make every thread of the process pass a full fence (membarrier)
//            3  wait until busy is false (acquire)
//            4  work, then clear revoked (release)
//
// Either the owner's step 1 came before the fence of the revoker's step 2, and then the revoker's step 3 sees it; or
// the owner's step 2 comes after the fence and sees revoked (asymmetric_fence.h). Where the system has no membarrier
// the owner fences itself.
//
// membarrier can begin to fail, for instance when the process installs a filter of system calls. Then nobody can tell
// whether an owner is using its bins, so other threads don't touch them (`unfenced`). The owner finds them revoked,
// takes the allocator's lock next, empties them there, and fences itself from then on.
//
// Invariant: the heap counts blocks in bins as taken, so nobody else touches them. A request that its bin can't serve
// empties the arena's bins first, so blocks in bins never keep a request from a better place.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "memory/allocator/block.h"
#include "memory/allocator/counters.h"
#include "memory/allocator/heap.h"
#include "runtime/asymmetric_fence.h"

namespace anyplace::detail {

/// The size to which a request is rounded; bins are by that size.
inline std::uint64_t rounded_size(std::uint64_t bytes) noexcept {
  return (bytes + (block_unit - 1)) & ~(block_unit - 1);
}

/// A block without memory. Pointers to no block point here, so that they needn't be compared with null.
extern constinit Block no_block;

/// The lists of one arena, by size: a hash table in which each size is looked for in four neighbouring lists.
class SizeBins {
 public:
  struct List {
    std::uint64_t size = 0;  ///< kept when the list is empty, for the next free of that size
    Block* head = nullptr;
    Block* last = &no_block;  ///< handed out last and so the likeliest to come back; only its `out` is read
    std::uint64_t bit = 0;    ///< the list's bit in filled_
  };

  /// The list of that size; null if there is none.
  List* find(std::uint64_t size) noexcept {
    const std::size_t first = first_of(size);
    if (lists_[first].size == size) [[likely]]
      return &lists_[first];
    for (std::size_t i = 1; i < tries; ++i) {
      List& list = lists_[(first + i) % count];
      if (list.size == size) return &list;
    }
    return nullptr;
  }
  /// The list in which a size is looked for first. It may have another size.
  List& likely(std::uint64_t size) noexcept { return lists_[first_of(size)]; }
  /// A list of that size, or an empty one that gets that size. Null if all four have other sizes.
  List* find_or_make(std::uint64_t size) noexcept {
    List& first = likely(size);
    return first.size == size ? &first : make(size);
  }
  static Block* pop(List& list) noexcept {
    Block* const block = list.head;
    if (block == nullptr) return nullptr;
    list.head = block->next;
    list.last = block;
    return block;
  }
  void push(List& list, Block* block) noexcept {
    block->next = list.head;
    list.head = block;
    filled_ |= list.bit;
  }
  bool empty() const noexcept { return filled_ == 0; }  ///< may be false although all lists are empty
  /// Calls give(block) for each block and forgets it.
  template <class Give>
  void drain(Give&& give) noexcept {
    for (std::uint64_t left = std::exchange(filled_, 0); left != 0; left &= left - 1) {
      List& list = lists_[static_cast<std::size_t>(std::countr_zero(left))];
      while (list.head != nullptr) {
        Block* const block = list.head;
        list.head = block->next;
        give(block);
      }
    }
  }
  /// Called when empty, and forgets the sizes.
  void forget() noexcept;

 private:
  List* make(std::uint64_t size) noexcept;

  static constexpr std::size_t count = 64;
  static constexpr std::size_t tries = 4;
  static std::size_t first_of(std::uint64_t size) noexcept {
    return static_cast<std::size_t>((size / block_unit * 0x9e3779b97f4a7c15u) >> 58);
  }

  std::array<List, count> lists_;
  std::uint64_t filled_ = 0;  ///< bits of lists that may have blocks
};

struct Line {
  std::uint64_t stream = 0;  ///< 0 if the line isn't used
  std::uint64_t pool = 0;
  const Heap* heap = nullptr;
  std::uint64_t small_arena_limit = 0;
  std::array<const Arena*, 2> arenas{};  ///< large, small; null before an allocation
  std::array<SizeBins, 2> bins;

  // -- A large block in a bin is missing in its arena: it doesn't join its free neighbours, and it serves the next
  // request even if another hole fits better. So only one large size has a bin: one that the thread asks for again and
  // again without any other in between.
  static constexpr std::uint32_t enough = 16;
  std::uint64_t large_size = 0;  ///< the rounded size of the last large requests and frees
  std::uint32_t in_a_row = 0;    ///< how many of them in a row the heap has seen
  bool is_binned(std::size_t side, std::uint64_t size) const noexcept {
    return side != 0 || (size == large_size && in_a_row >= enough);
  }
  /// Counts a request or free of that size that reached the heap. Returns false if the bin still has another size.
  bool count_large(std::uint64_t size) noexcept {
    if (size == large_size) {
      if (in_a_row < enough) ++in_a_row;
      return true;
    }
    large_size = size;
    in_a_row = 1;
    return false;
  }

  std::size_t side_of(std::uint64_t requested) const noexcept { return requested <= small_arena_limit ? 1 : 0; }
};

/// The largest request that an arena for small ones serves. With virtual memory single pages move, and requests above
/// this do better among the large ones; classic segments are divided as torch divides them.
inline std::uint64_t small_arena_limit(const Heap& heap) noexcept {
  return heap.uses_virtual_memory() ? 64 * 1024 : small_limit;
}

extern constinit Line no_line;

class alignas(64) ThreadBins {
 public:
  ThreadBins() noexcept { lines_.fill(&no_line); }
  ThreadBins(const ThreadBins&) = delete;  // the allocator's list points to it
  ThreadBins& operator=(const ThreadBins&) = delete;

  // -- Called by the owner.
  /// Returns false if the bins are revoked; then leave() must not be called.
  bool enter() noexcept {
    busy_.store(true, std::memory_order_relaxed);
    if (owner_fences) [[unlikely]] {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    } else {
      light_fence();
    }
    if (revoked_.load(std::memory_order_acquire) == 0) [[likely]]
      return true;
    leave();
    return false;
  }
  void leave() noexcept { busy_.store(false, std::memory_order_release); }

  // -- Called between enter() and leave(), or during a revocation, or by the owner under the lock.
  /// Returns null if there is no such line.
  Line* find(std::uint64_t stream, std::uint64_t pool) noexcept {
    Line* const line = lines_[place_of(stream, pool)];
    return line->stream == stream && line->pool == pool ? line : nullptr;
  }
  HitCounters counters;

  // -- Called by the owner under the allocator's lock. drain(line) empties the line that is replaced.
  /// Returns null if there is no memory.
  template <class Drain>
  Line* make(std::uint64_t stream, std::uint64_t pool, const Heap& heap, Drain&& drain) noexcept;
  template <class Visit>
  void for_each_line(Visit&& visit) {
    for (Line* const line : lines_) {
      if (line->stream != 0) visit(*line);
    }
  }

  // -- Called under the allocator's lock. These bits are the reasons why the bins are revoked.
  static constexpr std::uint32_t revoking = 1;  ///< for the time of a Revocation
  static constexpr std::uint32_t off = 2;       ///< the configuration or the history switches bins off
  static constexpr std::uint32_t private_to_callback = 4;
  static constexpr std::uint32_t unfenced = 8;  ///< the owner may not have noticed yet, so nobody else may touch them
  void bar(std::uint32_t reason) noexcept { revoked_.fetch_or(reason, std::memory_order_seq_cst); }
  void unbar(std::uint32_t reason) noexcept { revoked_.fetch_and(~reason, std::memory_order_release); }
  bool barred() const noexcept { return revoked_.load(std::memory_order_relaxed) != 0; }
  bool is_unfenced() const noexcept { return (revoked_.load(std::memory_order_relaxed) & unfenced) != 0; }
  /// The revoker's step 3.
  void wait_until_left() const noexcept;

  ThreadBins* next = nullptr;  ///< next in the allocator's list, which only grows
  bool taken = false;          ///< a thread has these bins; guarded by the lock
  bool owner_fences = true;    ///< whether enter() fences; the owner sets it under the lock

 private:
  static constexpr std::size_t line_count = 16;
  static std::size_t place_of(std::uint64_t stream, std::uint64_t pool) noexcept {
    return static_cast<std::size_t>((stream >> 6) + pool) % line_count;
  }

  std::atomic<bool> busy_{false};
  std::atomic<std::uint32_t> revoked_{0};
  std::array<Line*, line_count> lines_;  ///< never freed; no_line before the first use
};

template <class Drain>
Line* ThreadBins::make(std::uint64_t stream, std::uint64_t pool, const Heap& heap, Drain&& drain) noexcept {
  Line*& place = lines_[place_of(stream, pool)];
  if (place == &no_line) {
    Line* const made = new (std::nothrow) Line;
    if (made == nullptr) return nullptr;
    place = made;
  }
  if (place->stream != 0) drain(*place);
  place->stream = stream;
  place->pool = pool;
  place->heap = &heap;
  place->small_arena_limit = small_arena_limit(heap);
  place->arenas = {};
  place->large_size = 0;
  place->in_a_row = 0;
  for (SizeBins& bins : place->bins) bins.forget();
  return place;
}

/// Whether owners of bins have to fence themselves from now on. A thread asks before it takes bins.
bool owners_have_to_fence() noexcept;
/// The revoker's step 2, for owners that don't fence themselves. Returns false if the system refuses it, which it does
/// for good.
[[nodiscard]] bool fence_all_threads() noexcept;

// ---- The bins of the calling thread --------------------------------------------------------------------------------

class DeviceAllocator;

/// Devices are numbered in the order in which their allocators are made. Devices beyond this number have no bins.
inline constexpr std::size_t max_binned_devices = 64;

struct BinsOfThread {
  std::array<ThreadBins*, max_binned_devices + 1> of_device{};  ///< the last one stays null
  std::array<DeviceAllocator*, max_binned_devices> allocators{};
};

/// Null until the thread has bins, and again after it gave them back at its end. Its TLS model is initial-exec for the
/// reason that call_state (process.h) gives.
extern constinit thread_local BinsOfThread* bins_of_thread __attribute__((tls_model("initial-exec")));

/// The calling thread's bins on a device. `device_number` is at most max_binned_devices.
inline ThreadBins* own_bins(std::size_t device_number) noexcept {
  BinsOfThread* const bins = bins_of_thread;
  return bins == nullptr ? nullptr : bins->of_device[device_number];
}
/// The calling thread's table, made at first use; null if there is no memory or the thread is ending. When the thread
/// ends, each allocator in the table gets its bins back (DeviceAllocator::thread_ends).
BinsOfThread* make_bins_of_thread() noexcept;

}  // namespace anyplace::detail
