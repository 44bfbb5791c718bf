// SPDX-License-Identifier: Apache-2.0
//
// Text for people: tables, byte counts, and texts from plugins made safe to print on a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anyplace::tool {

/// The text on one line: control characters, which could move the cursor or change colours, are shown as \xNN. UTF-8
/// stays.
std::string printable(std::string_view text);

/// The first 60 bytes in single quotes, made printable: for errors that show what was given.
std::string in_quotes(std::string_view text);

/// A size: "1.0 GiB", "512 B"; "unknown" for nothing.
std::string bytes_text(const std::optional<std::uint64_t>& bytes);

/// The items with commas between: "a, b, c"; "none" for no items.
std::string joined(const std::vector<std::string>& items);

/// A table: rows of cells, each column as wide as its widest cell, two spaces between. Cells are made printable, and
/// then changed by `finish`, if there is one: it is given the row, the column and the text, and adds colour, not width.
using FinishCell = std::function<std::string(std::size_t row, std::size_t column, const std::string& text)>;
std::string table(const std::vector<std::vector<std::string>>& rows, const FinishCell& finish = {});

/// "label: text\n", indented by two spaces, so that the texts of several such lines start in one column.
std::string field(std::string_view label, std::string_view text);

/// The one of `known` that is nearest to `text`, if it is near enough to be meant; else "".
std::string nearest(std::string_view text, const std::vector<std::string>& known);

}  // namespace anyplace::tool
