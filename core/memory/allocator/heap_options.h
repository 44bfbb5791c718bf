// SPDX-License-Identifier: Apache-2.0
//
// The terms of a heap: its options, its sizes, how far a request may go, and what the heap asks of its user.
#pragma once

#include <cstdint>

#include "memory/allocator/arena_key.h"
#include "memory/figures/statistics.h"

namespace anyplace::detail {

/// Blocks begin at multiples of it from their segment's begin, and are as long. PyTorch's kMinBlockSize, so that its
/// figures and ours round alike.
inline constexpr std::uint64_t block_unit = 512;
/// The largest request of the small pool. PyTorch's kSmallSize: the statistics' small_pool means the same.
inline constexpr std::uint64_t small_limit = 1024 * 1024;
/// A page is this long, or as long as the device's if that is more. NVIDIA's devices have 2 MiB; a vendor with smaller
/// ones would have as many more calls.
inline constexpr std::uint64_t min_page = 2 * 1024 * 1024;

struct HeapOptions {
  bool virtual_memory = true;                  ///< if the source has it
  std::uint64_t limit = UINT64_MAX;            ///< bytes reserved at most
  std::uint64_t max_split_bytes = UINT64_MAX;  ///< larger blocks aren't split (classic segments)
  std::uint64_t address_space = 0;             ///< bytes of addresses an arena reserves; 0: the heap chooses
};

/// How far a request may go.
enum class Reach {
  cached,    ///< The arena's own free memory has to do. The source isn't called.
  grow,      ///< The source may be called, and pages that other arenas don't need may move.
  scavenge,  ///< Every free page of every idle arena may move or go back to the source.
};

/// What the heap asks and tells. It is called under its user's lock.
class HeapUser {
 public:
  virtual ~HeapUser() = default;
  /// Whether no work uses the free memory of that stream's arenas any more. May submit a query; doesn't wait.
  virtual bool idle(const ArenaKey& arena) noexcept = 0;
  /// For the history: segment_alloc, segment_free, segment_map, segment_unmap.
  virtual void note(TraceAction action, const ArenaKey& arena, std::uint64_t address, std::uint64_t bytes) noexcept = 0;
};

}  // namespace anyplace::detail
