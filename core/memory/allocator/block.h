// SPDX-License-Identifier: Apache-2.0
//
// Block: a range of device memory, free or handed out. Every byte of a segment belongs to exactly one block.
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
  none,     ///< not in any segment: waits to be used again
  free,     ///< It is the heap's.
  taken,    ///< handed out, or in a thread's bin, which the heap doesn't tell apart: `out` does
  pending,  ///< its free was asked for; work of some stream may still use it
  spoilt,   ///< addresses, no memory: an unmap failed there, so nothing is mapped or used there ever again
};

/// All that a hit in the bins touches lies in one cache line, and no other block does.
struct alignas(64) Block {
  anyplace_address address = 0;
  std::uint64_t bytes = 0;                  ///< of its segment, so rounded up
  std::atomic<std::uint64_t> requested{0};  ///< what the caller asked for; 0 unless taken or pending
  std::atomic<BlockUse> use{BlockUse::none};
  bool small = false;  ///< which of the statistics' two pools it counts in
  Arena* arena = nullptr;
  Block* next = nullptr;     ///< in a list of whoever holds it
  std::uint64_t stream = 0;  ///< whose order it was handed out in; its arena's, unless it was lent across streams
  /// Its address while it is handed out, else not_out. It is read without a lock to see whether a pointer is stale.
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
  std::uint64_t freed_at = 0;  ///< It is the heap's. clock, in operations
};

}  // namespace anyplace::detail
