// SPDX-License-Identifier: Apache-2.0
//
// PageNotes: the planner's notes about each page of memory during one search, so that the heap's state isn't changed.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/allocator/arena.h"

namespace anyplace::detail {

struct PageNote {
  std::uint64_t free_in = 0;  ///< the last search that found the page free
  std::uint64_t seen_in = 0;  ///< the last candidate for a window that counted the page
  bool movable = false;       ///< in search `free_in`: it may move to another place
  bool chosen = false;        ///< in search `free_in`: it will return to where it is still mapped
};

class PageNotes {
 public:
  /// Starts a search over Physicals with numbers below `numbers`. Throws std::bad_alloc.
  void start(std::size_t numbers) {
    if (notes_.size() < numbers) notes_.resize(numbers);
    ++search_;
  }
  /// A number that no earlier candidate had.
  std::uint64_t next_candidate() noexcept { return ++candidates_; }

  void found_free(const Physical& physical, bool movable) noexcept {
    notes_[physical.number] = {search_, 0, movable, false};
  }
  bool is_free(const Physical& physical) const noexcept { return notes_[physical.number].free_in == search_; }
  /// The note of a free page.
  PageNote& of(const Physical& physical) noexcept { return notes_[physical.number]; }
  const PageNote& of(const Physical& physical) const noexcept { return notes_[physical.number]; }
  bool is_chosen(const Physical& physical) const noexcept { return is_free(physical) && of(physical).chosen; }

 private:
  std::vector<PageNote> notes_;
  std::uint64_t search_ = 0;
  std::uint64_t candidates_ = 0;
};

}  // namespace anyplace::detail
