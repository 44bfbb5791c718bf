// SPDX-License-Identifier: Apache-2.0
//
// A table that fits a given number of columns of a terminal: what has no room is left out, the least important first,
// and bars and names grow into what is left.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "terminal.h"

namespace anyplace::tool {

/// A piece of a line in one colour, or in none.
struct Span {
  std::optional<Paint> paint;
  std::string text;  ///< printable()
};
using Line = std::vector<Span>;

/// Characters, not bytes.
std::size_t width_of(std::string_view text) noexcept;
/// The first `columns` characters of it, with "~" for the last one if there are more.
std::string cut(std::string_view text, std::size_t columns);
Line cut(const Line& line, std::size_t columns);

/// "[||||    ]", `width` characters, 3 at least. The share is 0 to 1; an unknown one is a bar of dots.
std::string bar(const std::optional<double>& share, std::size_t width);

struct Column {
  std::string heading;
  int rank = 0;                                    ///< the lowest are shown first; those of rank 0 always
  bool right = false;                              ///< aligned to the right
  std::size_t gap = 2;                             ///< blanks before it
  std::size_t width = 0;                           ///< at least; fitted_table() takes the widest cell if it is 0
  std::size_t most = 0;                            ///< may grow to so many
  std::vector<Span> cells;                         ///< one for each row
  std::vector<std::optional<double>> shares = {};  ///< of a column of bars: instead of cells' texts
};

/// The heading and a line for each row, none longer than `columns`. A row for which `remarks` has a text shows that
/// behind its first cell, instead of the others; `remarks` may be empty.
std::vector<Line> fitted_table(std::vector<Column> columns_of_table, std::size_t rows, std::size_t columns,
                               const std::vector<std::string>& remarks = {});

}  // namespace anyplace::tool
