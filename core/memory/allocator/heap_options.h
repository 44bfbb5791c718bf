// SPDX-License-Identifier: Apache-2.0
//
// The heap's options and sizes, how far a request may go, and the interface to the heap's user.
#pragma once

#include <cstdint>

#include "memory/allocator/arena_key.h"
#include "memory/figures/statistics.h"

namespace anyplace::detail {

/// Blocks begin at multiples of it from the beginning of their segment, and their sizes are multiples. It is PyTorch's
/// kMinBlockSize, so that figures are rounded as PyTorch rounds them.
inline constexpr std::uint64_t block_unit = 512;
/// The largest request of the small pool. It is PyTorch's kSmallSize, so that the statistics' small_pool means the
/// same.
inline constexpr std::uint64_t small_limit = 1024 * 1024;
/// The size of a page, or the device's page size if that is larger. NVIDIA's devices have 2 MiB; smaller pages would
/// need that many more calls.
inline constexpr std::uint64_t min_page = 2 * 1024 * 1024;

struct HeapOptions {
  bool virtual_memory = true;                  ///< if the source has it
  std::uint64_t limit = UINT64_MAX;            ///< for reserved bytes
  std::uint64_t max_split_bytes = UINT64_MAX;  ///< larger blocks aren't split (classic segments)
  std::uint64_t address_space = 0;             ///< addresses that an arena reserves, in bytes; 0 if the heap chooses
};

/// How far the heap may go to serve a request.
enum class Reach {
  cached,    ///< only the arena's own free memory; the source isn't called
  grow,      ///< the source may be called, and pages that other arenas don't need may move
  scavenge,  ///< every free page of every idle arena may move or go back to the source
};

/// What the heap asks of its user and tells it. The methods are called under the user's lock.
class HeapUser {
 public:
  virtual ~HeapUser() = default;
  /// Whether no work uses the free memory of that stream's arenas any more. May submit a query; doesn't wait.
  virtual bool idle(const ArenaKey& arena) noexcept = 0;
  /// Tells the history of segment_alloc, segment_free, segment_map and segment_unmap.
  virtual void note(TraceAction action, const ArenaKey& arena, std::uint64_t address, std::uint64_t bytes) noexcept = 0;
};

}  // namespace anyplace::detail
