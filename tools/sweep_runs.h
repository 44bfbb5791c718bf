// SPDX-License-Identifier: Apache-2.0
// Runs of one program under the layer `faults`: their rules, and what the layer reported.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "program_runs.h"

namespace anyplace::tool {

/// What all runs of a sweep share.
struct SweepProgram {
  std::vector<std::string> words;  ///< the program, by an absolute path or a name that PATH leads to, and its arguments
  std::string layers;              ///< the value of ANYPLACE_LAYERS
  std::string folder;              ///< in which each run has its own
};

/// A run that is over.
struct SweepRun : ProgramRun {
  std::string rules;  ///< the value of ANYPLACE_FAULTS
  std::string hit;    ///< the entry that the layer reported as hit first; "" if none was hit
  // -- What the layer reported at the end; nothing of a run that crashed, hung or ended by _exit.
  bool is_reported = false;
  std::uint64_t uses = 0;                     ///< calls that the first rule is for, of the process that made most
  std::uint64_t hits = 0;                     ///< of all processes
  std::map<std::string, std::uint64_t> live;  ///< how many objects of each kind the backends had at the end
};

/// Makes a run for each number that `next` gives until it gives 0, at most `jobs` at once, and gives each to `done`
/// when it is over. `rules` makes the rules of a run. Limits and errors are those of RunPool.
void make_runs(const SweepProgram& program, const std::function<std::uint64_t()>& next,
               const std::function<std::string(std::uint64_t)>& rules, unsigned jobs, std::chrono::milliseconds limit,
               const std::function<void(const SweepRun&)>& done);

}  // namespace anyplace::tool
