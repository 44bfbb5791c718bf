// SPDX-License-Identifier: Apache-2.0
//
// How far apart two names are, for errors that say which one was probably meant. All of it is in this header, so that
// the command, which sees nothing else of the core, measures alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace anyplace::detail {

/// How many characters have to be changed, inserted, removed or swapped with their neighbour to get from `a` to `b`
/// (optimal string alignment). Takes time in proportion to the product of the lengths, so the caller bounds them.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Only three rows of the table are ever looked at.
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({changed, previous[j] + 1, current[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    before.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

}  // namespace anyplace::detail
