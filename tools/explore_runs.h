// SPDX-License-Identifier: Apache-2.0
// Runs of one program under cpu_sim's deterministic mode, each with its schedule, and what is wrong with how they
// ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "program_runs.h"
#include "schedule_report.h"

namespace anyplace::tool {

/// What decides in a run: a strategy, or choices, after whose end the plain schedule goes on; and the seed, from which
/// the layer `faults` draws with either.
struct Schedule {
  std::string strategy;
  std::uint64_t seed = 0;
  // -- Without a strategy.
  std::vector<std::uint32_t> choices;   ///< the options at the first choices
  std::vector<std::string> deviations;  ///< from the plain schedule behind these, as a file of choices has them
};

/// Why a run is a failure.
struct RunFailure {
  std::string kind;     ///< a word of failure_kinds; "": the run is good
  std::string message;  ///< what is wrong, in a line
  std::string key;      ///< equal for runs that fail in the same way: the message without its numbers

  explicit operator bool() const { return !kind.empty(); }
  bool is_same(const RunFailure& other) const { return kind == other.kind && key == other.key; }
};

struct ScheduleRun : ProgramRun {
  Schedule schedule;
  std::string folder;
  ScheduleReport report;                    ///< without choices and what ran
  std::vector<ScheduleReport> other_ranks;  ///< the same of ranks 1 and so on, if the program is a job of several
  RunFailure failure;
  std::uint64_t hash = 0;  ///< equal for equal schedules

  std::string report_path(std::uint32_t rank = 0) const { return report_of_rank(folder + "/report", rank); }
  bool is_job() const noexcept { return report.ranks > 1; }
};

/// The program and the rules of its runs.
struct ExploredProgram {
  std::vector<std::string> words;
  std::string folder;  ///< in which each run has its own
  unsigned jobs = 1;
  std::chrono::milliseconds limit{0};  ///< a run that takes longer has no end
};

class ScheduleRuns {
 public:
  explicit ScheduleRuns(const ExploredProgram& program);

  bool has_room() const noexcept { return pool_.has_room(); }
  bool is_empty() const noexcept { return pool_.is_empty(); }
  /// Starts a run. Errors are those of RunPool.
  void start(Schedule schedule);
  /// Waits until a run is over, and judges it. The caller removes its folder.
  ScheduleRun wait();
  /// Makes one run alone, while there is no other.
  ScheduleRun run(Schedule schedule);
  /// From now on a run that is good but whose standard output or files differ from this folder's is a failure; files of
  /// the names in `unsteady` may.
  void compare_with(std::string folder, std::set<std::string> unsteady) {
    reference_ = std::move(folder);
    unsteady_ = std::move(unsteady);
  }
  std::uint64_t count() const noexcept { return last_number_; }

 private:
  RunFailure judge(const ScheduleRun& run) const;
  RunFailure reported_by_validate(const std::string& folder) const;

  std::string folder_;
  bool is_validated_;
  std::string reference_;
  std::set<std::string> unsteady_;
  std::map<std::uint64_t, Schedule> started_;
  std::uint64_t last_number_ = 0;
  RunPool pool_;
};

/// The variables of a run that `choices` or the schedule's strategy decides in. `choices_file` has the choices.
RunVariables schedule_variables(const Schedule& schedule, const std::string& choices_file);

/// The text of a file of choices.
std::string choices_text(const Schedule& schedule);

/// The options that were taken, up to the last one that the plain schedule wouldn't have taken.
std::vector<std::uint32_t> taken_choices(const ScheduleReport& report);

/// The text with a `#` for each number and address: what failures of one kind have in common.
std::string without_numbers(const std::string& text);

}  // namespace anyplace::tool
