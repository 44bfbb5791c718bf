// SPDX-License-Identifier: Apache-2.0
// What `anyplace explore` says: in words, and as JSON.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "explore_search.h"
#include "explore_shrink.h"
#include "json.h"

namespace anyplace::tool {

/// A failure with all that is known of it.
struct ExploredFailure {
  FoundFailure found;
  ShrunkFailure shrunk;
  bool is_plain = false;  ///< the plain schedule fails, too
  std::string folder;     ///< has its choices, report and output
  std::string replay;     ///< a line for a shell that makes the shrunk run again
  std::string by_seed;    ///< the same for the run that failed first; "" if that had no seed
};

struct Exploration {
  std::string strategy;  ///< "exhaustive" if all schedules were to be tried
  std::uint64_t first_seed = 0;
  SearchResult search;
  std::vector<ExploredFailure> failures;
  std::string difference;              ///< what isn't deterministic; "" if nothing was seen
  std::set<std::string> not_compared;  ///< of --same-output: what differs already between two plain runs
  std::uint64_t actors = 0;            ///< threads and streams
  std::uint64_t total_runs = 0;        ///< with those of checks and of shrinking
  double seconds = 0;
  int interrupted = 0;  ///< the signal that ended the search early, or 0
};

std::string exploration_text(const Exploration& exploration);
Json exploration_json(const Exploration& exploration);

/// Whether each run of the strategy is another sample.
bool is_sampling(const std::string& strategy);
/// D of `pct:D` and `pct:D:K`; 0 for another strategy.
std::uint64_t depth_of(const std::string& strategy);
/// K of `pct:D:K`, the choices among which it changes priorities; 0 for another strategy.
std::uint64_t choices_of(const std::string& strategy);

}  // namespace anyplace::tool
