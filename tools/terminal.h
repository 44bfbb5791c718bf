// SPDX-License-Identifier: Apache-2.0
//
// What differs on a terminal: colour, and lines that end where the terminal does. A pipe or a file gets neither. Colour
// is off too where NO_COLOR is set and not empty (no-color.org), and where TERM is "dumb".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace anyplace::tool {

enum class Paint {
  heading,  ///< what stands over something else
  name,     ///< what the reader may type: a place, a command
  good,
  doubtful,
  bad,
};

/// `text` as it is to be written to standard output, and to standard error. It must be printable() already.
std::string painted(Paint how, std::string_view text);
std::string painted_note(Paint how, std::string_view text);

/// Whether what is written to the descriptor may have colour.
bool colour_wanted(int descriptor);
/// How many columns the terminal has; 0 if the descriptor is none.
std::size_t columns_of(int descriptor);

/// `text`, whose parts have "; " between them: on a terminal each part has a line of its own, indented but for the
/// first.
std::string on_lines(const std::string& text, int descriptor);

/// `text` for a descriptor: on a terminal, lines that are longer than it is wide are broken between words, and go on
/// under where their text began; elsewhere as it is.
std::string fitted(const std::string& text, int descriptor);

}  // namespace anyplace::tool
