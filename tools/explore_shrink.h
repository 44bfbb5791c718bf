// SPDX-License-Identifier: Apache-2.0
// Shrinks a failing schedule to few deviations from the plain one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explore_runs.h"

namespace anyplace::tool {

/// A choice in which a schedule takes something else than the plain one.
struct Deviation {
  std::uint64_t choice = 0;
  std::string line;     ///< for a file of choices
  std::string what;     ///< what it takes
  std::string instead;  ///< what the plain schedule would take there
};

struct ShrunkFailure {
  bool is_tried = false;     ///< else nothing was run, and there is no deviation
  bool is_replayed = false;  ///< the choices alone lead to the failure; else the rest is that of the first run
  Schedule schedule;
  std::vector<Deviation> deviations;
  std::uint64_t before = 0;  ///< how many deviations there were
  std::uint64_t runs = 0;    ///< how many it took
  std::string folder;        ///< of a run with these choices; kept
};

/// Finds fewer deviations that still lead to the failure, by delta debugging (Zeller and Hildebrandt, Simplifying and
/// Isolating Failure-Inducing Input, 2002): leaves out one part of them after the other, until none can be left out.
/// Then it postpones later operations of a stream instead of those that come late, and leaves out again. At most `most`
/// runs, all with the seed of the failing one. `failing` and its folder are that one.
ShrunkFailure shrink_failure(ScheduleRuns& runs, const ScheduleRun& failing, std::uint64_t most);

}  // namespace anyplace::tool
