// SPDX-License-Identifier: Apache-2.0
//
// A table that fits a given number of a terminal's columns: the least important columns are left out if there is no
// room, and bars and names grow into what is left.
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
  std::string text;  ///< the text, printable()
};
using Line = std::vector<Span>;

/// The number of characters, not bytes.
std::size_t width_of(std::string_view text) noexcept;
/// The first `columns` characters of the text or line, with "~" for the last one if there are more.
std::string cut(std::string_view text, std::size_t columns);
Line cut(const Line& line, std::size_t columns);

/// A bar "[||||    ]" of `width` characters, 3 at least. The share is 0 to 1; an unknown one is a bar of dots.
std::string bar(const std::optional<double>& share, std::size_t width);

struct Column {
  std::string heading;
  int rank = 0;             ///< columns of the lowest rank are shown first, and those of rank 0 always
  bool right = false;       ///< aligned to the right
  std::size_t gap = 2;      ///< blanks before it
  std::size_t width = 0;    ///< the least width; fitted_table() takes that of the widest cell if it is 0
  std::size_t most = 0;     ///< the width up to which it may grow
  std::vector<Span> cells;  ///< one for each row
  /// For a column of bars: the share of each row, which replaces the cells' texts.
  std::vector<std::optional<double>> shares = {};
};

/// The heading and a line for each row, none longer than `columns`. A row for which `remarks` has a text shows the
/// first cell and that text instead of the other cells; `remarks` may be empty.
std::vector<Line> fitted_table(std::vector<Column> columns_of_table, std::size_t rows, std::size_t columns,
                               const std::vector<std::string>& remarks = {});

}  // namespace anyplace::tool
