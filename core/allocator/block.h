// SPDX-License-Identifier: Apache-2.0
//
// Block: a range of device memory, free or handed out. Every byte of a segment belongs to exactly one block.
//
// Blocks are type-stable: the memory of a Block is used again for other blocks and never given back to the system, so
// that whoever holds a stale pointer can still look whether it is the block it was.
#pragma once

#include <atomic>
#include <cstdint>

#include "anyplace/backend/abi.h"

namespace anyplace::detail {

class Arena;
struct Segment;

enum class BlockUse : std::uint8_t {
  none,     ///< not in any segment: waits to be used again
  free,     ///< the heap's
  taken,    ///< handed out, or in a thread's bin, which the heap doesn't tell apart: `out` does
  pending,  ///< its free was asked for; work of some stream may still use it
  spoilt,   ///< addresses, no memory: an unmap failed there, so nothing is mapped or used there ever again
};

/// What a hit in the bins touches is one cache line, and shares it with no other block.
struct alignas(64) Block {
  anyplace_address address = 0;
  std::uint64_t bytes = 0;      ///< rounded; what it takes of its segment
  std::uint64_t requested = 0;  ///< what the caller asked for; 0 unless taken or pending
  std::atomic<BlockUse> use{BlockUse::none};
  bool small = false;  ///< which of the two pools of the books
  Arena* arena = nullptr;
  Block* next = nullptr;     ///< in whatever list its holder keeps
  std::uint64_t stream = 0;  ///< whose order it was handed out in; its arena's, unless it was lent across streams
  /// Its address while it is handed out, else none: what a stale pointer is looked at for, without a lock.
  std::atomic<anyplace_address> out{not_out};
  static constexpr anyplace_address not_out = 1;

  // -- The heap's own.
  bool backed = true;  ///< false: addresses with no memory behind them; only when free or spoilt
  Segment* segment = nullptr;
  Block* before = nullptr;  ///< its neighbours in the segment, by address
  Block* after = nullptr;
  Block* index_left = nullptr;
  Block* index_right = nullptr;
  std::uint64_t index_key = 0;
  std::uint64_t freed_at = 0;  ///< the heap's clock, in operations
};

}  // namespace anyplace::detail
