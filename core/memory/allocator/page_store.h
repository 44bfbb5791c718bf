// SPDX-License-Identifier: Apache-2.0
//
// PageStore: allocates Physicals, and counts how many pages of memory the heap holds and how many pages of addresses
// they are mapped at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "memory/allocator/arena.h"

namespace anyplace::detail {

class PageStore {
 public:
  /// Makes sure that the next `count` calls of get() succeed. Throws std::bad_alloc.
  void ensure(std::size_t count) {
    while (spare_ < count) {
      made_.emplace_back();
      made_.back().number = static_cast<std::uint32_t>(made_.size() - 1);
      made_.back().next = unused_;
      unused_ = &made_.back();
      ++spare_;
    }
  }
  Physical* get(anyplace_physical handle) noexcept {
    Physical* physical = unused_;
    unused_ = physical->next;
    --spare_;
    physical->handle = handle;
    physical->home = physical->mapped = nullptr;
    physical->next = nullptr;
    ++held;
    return physical;
  }
  /// Takes back a page that is mapped nowhere.
  void put(Physical* physical) noexcept {
    physical->next = unused_;
    unused_ = physical;
    ++spare_;
    --held;
  }
  /// All Physicals have smaller numbers.
  std::size_t numbers() const noexcept { return made_.size(); }

  std::uint64_t held = 0;      ///< pages of memory
  std::uint64_t mappings = 0;  ///< pages of addresses where memory is mapped

 private:
  std::deque<Physical> made_;
  Physical* unused_ = nullptr;
  std::size_t spare_ = 0;
};

}  // namespace anyplace::detail
