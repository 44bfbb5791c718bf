// SPDX-License-Identifier: Apache-2.0
//
// ArenaKey: identifies an arena of a heap.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anyplace::detail {

struct ArenaKey {
  std::uint64_t stream = 0;
  std::uint64_t pool = 0;  ///< the MemoryPool's number; 0 for the common pool
  bool small = false;      ///< the arena is for small requests
  friend bool operator==(const ArenaKey&, const ArenaKey&) = default;
};

struct ArenaKeyHash {
  std::size_t operator()(const ArenaKey& key) const noexcept {
    std::uint64_t x = (key.stream * 0x9e3779b97f4a7c15U) ^ (key.pool << 1U) ^ static_cast<std::uint64_t>(key.small);
    x *= 0xbf58476d1ce4e5b9U;
    return x ^ (x >> 32U);
  }
};

}  // namespace anyplace::detail
