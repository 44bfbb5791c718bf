// SPDX-License-Identifier: Apache-2.0
// Runs of one program under the layer `faults`, several at a time, each in a folder of its own.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace anyplace::tool {

/// What all runs of a sweep share.
struct SweepProgram {
  std::vector<std::string> words;  ///< the program, by an absolute path or a name that PATH leads to, and its arguments
  std::string layers;              ///< the value of ANYPLACE_LAYERS
  std::string folder;              ///< in which each run has its own
};

/// A run that is over.
struct SweepRun {
  std::uint64_t number = 0;  ///< names its folder, too
  std::string rules;         ///< the value of ANYPLACE_FAULTS
  int status = -1;           ///< its exit status; -1 if it didn't exit
  int signal = 0;            ///< that it died of; 0 if it exited or was killed for its time
  bool hung = false;
  std::chrono::milliseconds took{0};
  std::string hit;  ///< the entry that the layer reported as hit first; "" if none was hit
  // -- What the layer reported at the end; nothing of a run that crashed, hung or ended by _exit.
  bool is_reported = false;
  std::uint64_t uses = 0;                     ///< calls that the first rule is for, of the process that made most
  std::uint64_t hits = 0;                     ///< of all processes
  std::map<std::string, std::uint64_t> live;  ///< how many objects of each kind the backends had at the end
};

/// The folder of a run: `files` is the program's current folder, `stdout` and `stderr` are what it wrote.
std::string run_folder(const SweepProgram& program, std::uint64_t number);

/// Makes a run for each number that `next` gives until it gives 0, at most `jobs` at once, and gives each to `done`
/// when it is over. `rules` makes the rules of a run. A run that takes longer than `limit` is killed, and so is what a
/// run left behind in its process group. Only one thread may call it. Throws std::runtime_error if the program can't be
/// started, or a folder made.
void make_runs(const SweepProgram& program, const std::function<std::uint64_t()>& next,
               const std::function<std::string(std::uint64_t)>& rules, unsigned jobs, std::chrono::milliseconds limit,
               const std::function<void(const SweepRun&)>& done);

/// The names of the files, `stdout` among them, that aren't the same in the two folders.
std::set<std::string> differing_files(const std::string& folder, const std::string& other);

}  // namespace anyplace::tool
