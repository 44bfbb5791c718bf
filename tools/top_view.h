// SPDX-License-Identifier: Apache-2.0
//
// The display of `anyplace top`: makes lines of a snapshot for a screen of a given size. Nothing here knows of a
// terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "top_columns.h"
#include "top_snapshot.h"
#include "top_state.h"

namespace anyplace::tool {

/// The size of the screen, and texts that don't depend on the snapshot.
struct TopFrame {
  std::size_t columns = 80;
  std::size_t rows = 0;  ///< 0: there are as many rows as needed, and no line that names the keys
  std::string every;     ///< "every 1 s"; "" for a table that is printed once
};

/// The lines of the display. No line is longer than frame.columns, and there are frame.rows at most. Scrolls
/// state.first_process back if there are fewer processes.
std::vector<Line> top_lines(const TopSnapshot& snapshot, TopState& state, const TopFrame& frame);

/// The line without colour, and without blanks at the end.
std::string plain_text(const Line& line);

}  // namespace anyplace::tool
