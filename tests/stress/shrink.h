// SPDX-License-Identifier: Apache-2.0
//
// The smallest round that still shows what was found: fewer operations, fewer threads, fewer settings. What shows only
// now and then is tried more often.
#pragma once

#include <chrono>
#include <functional>

#include "child.h"

namespace stress {

struct Shrunk {
  Round round;
  Outcome outcome;
  unsigned runs = 0;   ///< that it took
  unsigned again = 0;  ///< of the runs at its beginning, how many showed it
  unsigned tried = 0;  ///< the runs at its beginning
};

/// `run` runs what is left of a round when the model has refused what makes no sense. Ends at `deadline`, with what it
/// has.
Shrunk shrink(const Round& round, const Outcome& outcome, const std::vector<Traits>& traits,
              const std::function<Outcome(const Plan&)>& run, std::chrono::steady_clock::time_point deadline);

}  // namespace stress
