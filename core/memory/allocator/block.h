// SPDX-License-Identifier: Apache-2.0
//
// Block: a range of device memory, free or in use. Every byte of a segment belongs to exactly one block.
//
// Blocks are type-stable: the memory of a Block is used again for other blocks and never given back to the system, so
// that a stale pointer can still be read to see whether it leads to the same block.
#pragma once

#include <atomic>
#include <cstdint>

#include "anyplace/backend/abi.h"

namespace anyplace::detail {

class Arena;
struct Segment;

enum class BlockUse : std::uint8_t {
  none,     ///< the block is in no segment and can be reused
  free,     ///< the heap has it
  taken,    ///< handed out, or in a thread's bin; only `out` tells which
  pending,  ///< its free was asked for, but work of a stream may still use it
  /// Addresses without memory: an unmap failed there, so nothing is ever mapped or used there again.
  spoilt,
};

/// All members that a hit in the bins touches lie in one cache line, which no other block shares.
struct alignas(64) Block {
  anyplace_address address = 0;
  std::uint64_t bytes = 0;                  ///< the rounded size
  std::atomic<std::uint64_t> requested{0};  ///< the bytes that the caller asked for; 0 unless taken or pending
  std::atomic<BlockUse> use{BlockUse::none};
  bool small = false;  ///< whether it counts in the statistics' small pool
  Arena* arena = nullptr;
  Block* next = nullptr;  ///< link in a list of the thread cache or the heap
  /// The stream in whose order it was handed out. It is its arena's, unless the block was lent to another stream.
  std::uint64_t stream = 0;
  /// Its address while it is handed out, otherwise not_out. It is read without a lock to see whether a pointer is
  /// stale.
  std::atomic<anyplace_address> out{not_out};
  static constexpr anyplace_address not_out = 1;

  // -- Only the heap uses these.
  bool backed = true;  ///< false if it is addresses without memory, which only a free or spoilt block can be
  Segment* segment = nullptr;
  Block* before = nullptr;  ///< the neighbour in the segment, by address
  Block* after = nullptr;
  Block* index_left = nullptr;
  Block* index_right = nullptr;
  std::uint64_t index_key = 0;
  std::uint64_t freed_at = 0;  ///< the time on the heap's clock, which counts operations
};

}  // namespace anyplace::detail
