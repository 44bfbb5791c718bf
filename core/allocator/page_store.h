// SPDX-License-Identifier: Apache-2.0
//
// PageStore: what Physicals are made of, and how many there are: held pages of memory, and mappings beyond one for
// each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "arena.h"

namespace anyplace::detail {

class PageStore {
 public:
  /// Makes sure that the next call of get() succeeds. Throws std::bad_alloc.
  void ensure() {
    if (unused_ != nullptr) return;
    made_.emplace_back();
    unused_ = &made_.back();
  }
  Physical* get(anyplace_physical handle) noexcept {
    Physical* physical = unused_;
    unused_ = physical->next;
    *physical = Physical{};
    physical->handle = handle;
    ++held;
    return physical;
  }
  /// Of one that is mapped nowhere.
  void put(Physical* physical) noexcept {
    physical->next = unused_;
    unused_ = physical;
    --held;
  }

  std::uint64_t held = 0;      ///< pages of memory
  std::uint64_t mappings = 0;  ///< pages of addresses where one is mapped

 private:
  std::deque<Physical> made_;
  Physical* unused_ = nullptr;
};

}  // namespace anyplace::detail
