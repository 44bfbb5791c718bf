// SPDX-License-Identifier: Apache-2.0
//
// in_pieces: an operation with more elements than an engine counts, as operations that it can count. All ranks make the
// same of the same operation, and start the pieces in their order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ranks/part.h"

namespace anyplace::detail {

/// Whether the engine counts the elements of all ranks together.
inline bool counts_all(Collective what) noexcept {
  return what == Collective::all_gather || what == Collective::reduce_scatter || what == Collective::all_to_all;
}

inline bool fits(const Part& part, std::uint64_t most, int size) noexcept {
  return part.count <= (counts_all(part.what) ? most / static_cast<std::uint64_t>(size) : most);
}

/// The part as parts of at most `most` elements, as rank `rank` of `size` does them. What counts the elements of all
/// ranks becomes a reduction to each rank, or sends and receives between each two, its own too; all_gather in place
/// leaves out its own. A reduction's average is left to the caller, who divides `part`'s destination.
inline std::vector<Part> in_pieces(const Part& part, std::uint64_t most, int rank, int size) {
  std::vector<Part> pieces;
  const std::uint64_t element = size_of(part.type);
  const std::uint64_t block = part.count * element;
  const auto add = [&](Collective what, int root, anyplace_address destination, anyplace_address source) {
    for (std::uint64_t begin = 0; begin < part.count; begin += most) {
      const std::uint64_t offset = begin * element;
      pieces.push_back({what, part.type, part.reduction, root, std::min(most, part.count - begin),
                        destination == 0 ? 0 : destination + offset, source == 0 ? 0 : source + offset});
    }
  };
  const auto block_of = [&](int which) { return static_cast<std::uint64_t>(which) * block; };
  if (part.what == Collective::reduce_scatter) {
    for (int root = 0; root < size; ++root) {
      add(Collective::reduce, root, root == rank ? part.destination : 0, part.source + block_of(root));
    }
  } else if (counts_all(part.what)) {
    const bool gathers = part.what == Collective::all_gather;
    for (int peer = 0; peer < size; ++peer) {
      const anyplace_address from = part.source + (gathers ? 0 : block_of(peer));
      const anyplace_address to = part.destination + block_of(peer);
      if (peer == rank && from == to) continue;
      add(Collective::recv, peer, to, 0);
      add(Collective::send, peer, 0, from);
    }
  } else {
    add(part.what, part.root, part.destination, part.source);
  }
  return pieces;
}

}  // namespace anyplace::detail
