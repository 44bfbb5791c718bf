// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/runtime/edit_distance.h"

namespace anyplace::tool {
namespace {

/// The number of characters, not bytes, of UTF-8 text: exact enough for columns to line up.
std::size_t width(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0u;
    // The C1 controls, U+0080 to U+009F, are control characters too on some terminals; in UTF-8 they start with 0xc2.
    const bool c1 = c == 0xc2 && next >= 0x80 && next < 0xa0;
    if (c < 0x20 || c == 0x7f || c1) {
      std::array<char, 8> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "\\x%02x", c1 ? next : c);
      result += escaped.data();
      if (c1) ++i;
    } else {
      result += text[i];
    }
  }
  return result;
}

std::string in_quotes(std::string_view text) { return "'" + printable(text.substr(0, 60)) + "'"; }

std::string bytes_text(const std::optional<std::uint64_t>& bytes) {
  if (!bytes) return "unknown";
  if (*bytes < 1024) return std::to_string(*bytes) + " B";
  const std::array units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto amount = static_cast<double>(*bytes) / 1024;
  std::size_t unit = 0;
  while (amount >= 1024 && unit + 1 < units.size()) {
    amount /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", amount, units[unit]);
  return text.data();
}

std::string joined(const std::vector<std::string>& items) {
  if (items.empty()) return "none";
  std::string result;
  for (const std::string& item : items) {
    if (!result.empty()) result += ", ";
    result += item;
  }
  return result;
}

std::string table(const std::vector<std::vector<std::string>>& rows, const FinishCell& finish) {
  std::vector<std::vector<std::string>> cells;
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    auto& shown = cells.emplace_back();
    for (std::size_t column = 0; column < row.size(); ++column) {
      shown.push_back(printable(row[column]));
      if (widths.size() <= column) widths.push_back(0);
      widths[column] = std::max(widths[column], width(shown.back()));
    }
  }
  std::string result;
  for (std::size_t at = 0; at < cells.size(); ++at) {
    const auto& row = cells[at];
    for (std::size_t column = 0; column < row.size(); ++column) {
      result += finish ? finish(at, column, row[column]) : row[column];
      if (column + 1 < row.size()) result.append(widths[column] - width(row[column]) + 2, ' ');
    }
    result += '\n';
  }
  return result;
}

std::string field(std::string_view label, std::string_view text) {
  constexpr std::size_t column = 24;
  std::string line = "  " + std::string(label) + ":";
  line.append(line.size() < column ? column - line.size() : 1, ' ');
  line += printable(text);
  line += '\n';
  return line;
}

std::string nearest(std::string_view text, const std::vector<std::string>& known) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, text.size() / 3) + 1;
  // A long text is no typing error, and measuring it would cost its length times the name's.
  if (text.size() > 64) return best;
  for (const std::string& name : known) {
    const std::size_t d = detail::edit_distance(text, name);
    if (d < best_distance) {
      best = name;
      best_distance = d;
    }
  }
  return best;
}

}  // namespace anyplace::tool
