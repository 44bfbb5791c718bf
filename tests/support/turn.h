// SPDX-License-Identifier: Apache-2.0
//
// Whose turn it is. Tests that do many things one by one do a part of them for each commit: which part is told by
// ANYPLACE_TURN=K/N, where K is what the commit's number leaves when it is divided by N, so that any N commits in a row
// do everything. Without the variable all is done. Each thing is done in exactly one turn. N is 4, and 2 under a
// sanitizer, which runs an area for every second commit.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace test {

struct Turn {
  unsigned index = 0;
  unsigned of = 1;

  bool is_all() const noexcept { return of == 1; }
  /// Whether the item with this number, from 0 on, is done in this turn.
  bool takes(std::size_t item) const noexcept { return item % of == index; }
  /// How many of so many items that are all alike are done in this turn.
  std::size_t part(std::size_t items) const noexcept { return items / of + (index < items % of ? 1 : 0); }
  std::string text() const {
    return is_all() ? "all turns" : "turn " + std::to_string(index) + " of " + std::to_string(of);
  }
};

/// Throws std::invalid_argument, which says what is right, if `text` is none.
inline Turn turn_of(std::string_view text) {
  if (text.empty() || text == "all" || text == "0/1") return {};
  for (const unsigned turns : {2u, 4u}) {
    for (unsigned index = 0; index < turns; ++index) {
      if (text == std::to_string(index) + "/" + std::to_string(turns)) return {index, turns};
    }
  }
  throw std::invalid_argument("ANYPLACE_TURN is '" + std::string(text) +
                              "'; it can be 0/4, 1/4, 2/4 or 3/4, for a quarter of what there is, 0/2 or 1/2, for a "
                              "half, or unset, empty, 'all' or 0/1, for everything");
}

/// What ANYPLACE_TURN says.
inline Turn turn() {
  const char* const text = std::getenv("ANYPLACE_TURN");
  return turn_of(text != nullptr ? text : "");
}

}  // namespace test
