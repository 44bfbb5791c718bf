// SPDX-License-Identifier: Apache-2.0
//
// FreeIndex: free blocks by size, then by address. It finds the block that fits a request tightest. It is intrusive: a
// table of small trees (treaps), with eight trees for each power of two, so that a search follows few links.
//
// What best_fit() returns depends on what is in the index, not on the order in which it was inserted. So a program that
// repeats itself gets the same places again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "memory/allocator/block.h"

namespace anyplace::detail {

class FreeIndex {
 public:
  void insert(Block* block) noexcept;
  void remove(Block* block) noexcept;
  /// The smallest block of at least `bytes`, and among equals the one with the lowest address; null if there is none.
  Block* best_fit(std::uint64_t bytes) const noexcept;
  std::size_t size() const noexcept { return size_; }
  bool contains(const Block* block) const noexcept;

  /// Calls visit(Block*) for each block of at least `bytes`, by size, then address. visit must not change the index.
  template <typename Visit>
  void for_each(std::uint64_t bytes, Visit&& visit) const {
    for (std::size_t at = class_of(bytes); at < classes; ++at) walk(roots_[at], bytes, visit);
  }

 private:
  static constexpr std::size_t classes = 64 * 8;

  static std::size_t class_of(std::uint64_t bytes) noexcept;
  std::size_t next_class(std::size_t from) const noexcept;  ///< the first class that isn't empty, or `classes`

  template <typename Visit>
  static void walk(Block* node, std::uint64_t bytes, Visit& visit) {
    if (node == nullptr) return;
    if (node->bytes >= bytes) {
      walk(node->index_left, bytes, visit);
      visit(node);
    }
    walk(node->index_right, bytes, visit);
  }

  std::array<Block*, classes> roots_{};
  std::array<std::uint64_t, classes / 64> filled_{};
  std::size_t size_ = 0;
};

}  // namespace anyplace::detail
