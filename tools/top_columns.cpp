// SPDX-License-Identifier: Apache-2.0
#include "top_columns.h"

#include <algorithm>
#include <cmath>

namespace anyplace::tool {
namespace {

bool begins_character(char c) noexcept { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

std::size_t cells_of(const Column& column, std::size_t rows) {
  std::size_t widest = width_of(column.heading);
  for (std::size_t row = 0; row < rows && row < column.cells.size(); ++row) {
    widest = std::max(widest, width_of(column.cells[row].text));
  }
  return widest;
}

/// The columns that fit, in the order in which they were given.
std::vector<Column> chosen(std::vector<Column> all, std::size_t columns) {
  std::vector<std::size_t> by_rank(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) by_rank[i] = i;
  std::stable_sort(by_rank.begin(), by_rank.end(),
                   [&all](std::size_t a, std::size_t b) { return all[a].rank < all[b].rank; });
  std::vector<bool> fits(all.size());
  std::size_t used = 0;
  for (const std::size_t i : by_rank) {
    const std::size_t more = all[i].width + (used == 0 ? 0 : all[i].gap);
    // The first column without room ends the choice, because a less important one must not take the place of a more
    // important one.
    if (all[i].rank != 0 && used + more > columns) break;
    fits[i] = true;
    used += more;
  }
  std::vector<Column> kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (fits[i]) kept.push_back(std::move(all[i]));
  }
  return kept;
}

/// Widens the columns, each by one character in turn, so that two bars stay equally long.
void grow(std::vector<Column>& kept, std::size_t columns) {
  std::size_t used = 0;
  for (const Column& column : kept) used += column.width + (used == 0 ? 0 : column.gap);
  bool grown = true;
  while (used < columns && grown) {
    grown = false;
    for (Column& column : kept) {
      if (column.width >= column.most || used >= columns) continue;
      ++column.width;
      ++used;
      grown = true;
    }
  }
}

void append_cell(Line& line, const Column& column, const Span& cell) {
  const std::string text = cut(cell.text, column.width);
  const std::string padding(column.width - width_of(text), ' ');
  if (!line.empty()) line.push_back({{}, std::string(column.gap, ' ')});
  if (column.right && !padding.empty()) line.push_back({{}, padding});
  line.push_back({cell.paint, text});
  if (!column.right && !padding.empty()) line.push_back({{}, padding});
}

Line row_of(const std::vector<Column>& kept, std::size_t row) {
  Line line;
  for (const Column& column : kept) {
    Span cell = row < column.cells.size() ? column.cells[row] : Span{};
    if (row < column.shares.size()) cell.text = bar(column.shares[row], column.width);
    append_cell(line, column, cell);
  }
  return line;
}

}  // namespace

std::size_t width_of(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string cut(std::string_view text, std::size_t columns) {
  if (width_of(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  std::size_t characters = 0;
  std::size_t end = 0;
  while (end < text.size()) {
    if (begins_character(text[end]) && ++characters == columns) break;
    ++end;
  }
  return std::string(text.substr(0, end)) + "~";
}

Line cut(const Line& line, std::size_t columns) {
  std::size_t width = 0;
  for (const Span& span : line) width += width_of(span.text);
  if (width <= columns) return line;
  Line kept;
  std::size_t left = columns;
  for (const Span& span : line) {
    // The span is cut together with the text behind it, so that "~" is written only where the line ends.
    const std::size_t own = width_of(span.text);
    if (own < left) {
      kept.push_back(span);
      left -= own;
      continue;
    }
    kept.push_back({span.paint, cut(span.text + " ", left)});
    break;
  }
  return kept;
}

std::string bar(const std::optional<double>& share, std::size_t width) {
  const std::size_t inner = std::max<std::size_t>(width, 3) - 2;
  if (!share || std::isnan(*share)) return "[" + std::string(inner, '.') + "]";
  const double part = std::clamp(*share, 0.0, 1.0);
  auto filled = static_cast<std::size_t>(std::lround(part * static_cast<double>(inner)));
  if (part > 0 && filled == 0) filled = 1;  // a share above 0 shows at least one
  return "[" + std::string(filled, '|') + std::string(inner - filled, ' ') + "]";
}

std::vector<Line> fitted_table(std::vector<Column> columns_of_table, std::size_t rows, std::size_t columns,
                               const std::vector<std::string>& remarks) {
  for (Column& column : columns_of_table) {
    if (column.width == 0) column.width = cells_of(column, rows);
  }
  std::vector<Column> kept = chosen(std::move(columns_of_table), columns);
  grow(kept, columns);

  std::vector<Line> lines;
  Line& heading = lines.emplace_back();
  for (const Column& column : kept) append_cell(heading, column, {Paint::heading, column.heading});
  for (std::size_t row = 0; row < rows; ++row) {
    if (row < remarks.size() && !remarks[row].empty() && !kept.empty()) {
      Line& line = lines.emplace_back();
      append_cell(line, kept.front(), kept.front().cells[row]);
      line.push_back({Paint::bad, "  " + remarks[row]});
    } else {
      lines.push_back(row_of(kept, row));
    }
  }
  for (Line& line : lines) line = cut(line, columns);
  return lines;
}

}  // namespace anyplace::tool
