// SPDX-License-Identifier: Apache-2.0
//
// Output on a terminal: colour, and lines that are broken where the terminal ends. A pipe or a file gets neither.
// Colour is off too where NO_COLOR is set and not empty (no-color.org), and where TERM is "dumb".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace anyplace::tool {

enum class Paint {
  heading,  ///< a title
  name,     ///< text that the reader may type: a place, a command
  good,
  doubtful,
  bad,
};

/// `text` with colour if that is wanted, for standard output and for standard error. It must be printable() already.
std::string painted(Paint how, std::string_view text);
std::string painted_note(Paint how, std::string_view text);

/// Whether output to the descriptor may have colour.
bool colour_wanted(int descriptor);
/// How many columns the terminal has; 0 if the descriptor is no terminal.
std::size_t columns_of(int descriptor);

/// `text`, whose parts have "; " between them. On a terminal each part gets a line of its own, indented but for the
/// first.
std::string on_lines(const std::string& text, int descriptor);

/// `text` for a descriptor. On a terminal, lines that are longer than it is wide are broken between words, and continue
/// below the beginning of their text; elsewhere `text` is unchanged.
std::string fitted(const std::string& text, int descriptor);

}  // namespace anyplace::tool
