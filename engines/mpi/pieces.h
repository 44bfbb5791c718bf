// SPDX-License-Identifier: Apache-2.0
//
// in_pieces() splits an operation with more elements than an engine can count into operations that it can. All ranks
// split an operation in the same way, and start its pieces in the same order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "part.h"

namespace anyplace::mpi {

/// Returns whether one side of the operation has `count` elements for each rank, which the engine counts together.
inline bool counts_all(std::uint32_t what) noexcept {
  return what == ANYPLACE_COLLECTIVE_ALL_GATHER || what == ANYPLACE_COLLECTIVE_REDUCE_SCATTER ||
         what == ANYPLACE_COLLECTIVE_ALL_TO_ALL;
}

inline bool fits(const anyplace_engine_part& part, std::uint64_t most, int size) noexcept {
  return part.count <= (counts_all(part.collective) ? most / static_cast<std::uint64_t>(size) : most);
}

/// Returns the part as parts of at most `most` elements, as rank `rank` of `size` does them. An operation that
/// counts_all() becomes a reduction to each rank, or a receive and a send between each two ranks, and between a rank
/// and itself; an all_gather in place leaves out the latter. The pieces of an average are to be added up only: the
/// caller then divides `part`'s destination.
inline std::vector<anyplace_engine_part> in_pieces(const anyplace_engine_part& part, std::uint64_t most, int rank,
                                                   int size) {
  std::vector<anyplace_engine_part> pieces;
  const std::uint64_t element = engines::bytes_of(part.type);
  const std::uint64_t block = part.count * element;
  const auto add = [&](std::uint32_t what, int root, anyplace_address destination, anyplace_address source) {
    for (std::uint64_t begin = 0; begin < part.count; begin += most) {
      const std::uint64_t offset = begin * element;
      pieces.push_back({what, part.type, part.reduction, root, std::min(most, part.count - begin),
                        destination == 0 ? 0 : destination + offset, source == 0 ? 0 : source + offset});
    }
  };
  const auto block_of = [&](int which) { return static_cast<std::uint64_t>(which) * block; };
  if (part.collective == ANYPLACE_COLLECTIVE_REDUCE_SCATTER) {
    for (int root = 0; root < size; ++root) {
      add(ANYPLACE_COLLECTIVE_REDUCE, root, root == rank ? part.destination : 0, part.source + block_of(root));
    }
  } else if (counts_all(part.collective)) {
    const bool gathers = part.collective == ANYPLACE_COLLECTIVE_ALL_GATHER;
    for (int peer = 0; peer < size; ++peer) {
      const anyplace_address from = part.source + (gathers ? 0 : block_of(peer));
      const anyplace_address to = part.destination + block_of(peer);
      if (peer == rank && from == to) continue;
      add(ANYPLACE_COLLECTIVE_RECV, peer, to, 0);
      add(ANYPLACE_COLLECTIVE_SEND, peer, 0, from);
    }
  } else {
    add(part.collective, part.root, part.destination, part.source);
  }
  return pieces;
}

}  // namespace anyplace::mpi
