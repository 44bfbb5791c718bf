// SPDX-License-Identifier: Apache-2.0
// The searches of `anyplace explore`: schedules that a strategy samples by seeds, and all schedules there are.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "explore_runs.h"

namespace anyplace::tool {

/// When a search ends before it has tried everything.
struct SearchLimits {
  std::uint64_t runs = 0;  ///< 0: none
  std::optional<std::chrono::steady_clock::time_point> deadline;
  bool fail_fast = false;  ///< at the first failure
};

/// Failures of one kind and key.
struct FoundFailure {
  ScheduleRun first;        ///< its folder is kept
  std::uint64_t run = 0;    ///< which of the search's runs that was, from 1
  std::uint64_t count = 0;  ///< how many runs failed like this
};

struct SearchResult {
  std::uint64_t runs = 0;
  std::set<std::uint64_t> schedules;  ///< hashes
  std::vector<FoundFailure> failures;
  std::uint64_t longest = 0;  ///< the most choices of a run
  std::set<std::string> uncontrolled;
  // -- Of all schedules.
  bool is_complete = false;     ///< all schedules were tried
  std::uint64_t classes = 0;    ///< schedules of which none is another one with independent operations exchanged
  std::uint64_t redundant = 0;  ///< runs that turned out to be such a schedule once more
  std::string difference;       ///< the same choices led to something else; "": never
};

using SearchProgress = std::function<void(const SearchResult&)>;

/// Runs the program with the strategy and the seeds `first_seed`, `first_seed` + 1 and so on. Without limits it doesn't
/// end.
SearchResult sample_schedules(ScheduleRuns& runs, const std::string& strategy, std::uint64_t first_seed,
                              const SearchLimits& limits, const SearchProgress& progress);

/// Runs the program with all schedules, depth first. With `reduces` it tries one schedule of each class, by sleep sets
/// (Godefroid, Partial-Order Methods for the Verification of Concurrent Systems, 1996): of two operations that are
/// independent it doesn't try both orders.
SearchResult enumerate_schedules(ScheduleRuns& runs, std::uint64_t seed, bool reduces, const SearchLimits& limits,
                                 const SearchProgress& progress);

}  // namespace anyplace::tool
