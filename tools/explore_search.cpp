// SPDX-License-Identifier: Apache-2.0
#include "explore_search.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "interruption.h"

namespace anyplace::tool {
namespace {

bool is_over(const SearchResult& result, const SearchLimits& limits, std::uint64_t started) {
  if (interrupted() != 0) return true;
  if (limits.runs != 0 && started >= limits.runs) return true;
  if (limits.fail_fast && !result.failures.empty()) return true;
  return limits.deadline && std::chrono::steady_clock::now() >= *limits.deadline;
}

/// Counts the run, whose number in the search is `number`, and keeps its folder if it is the first that failed so.
void take(SearchResult& result, ScheduleRun run, std::uint64_t number) {
  if (run.interrupted) {  // it says nothing
    std::filesystem::remove_all(run.folder);
    return;
  }
  ++result.runs;
  result.schedules.insert(run.hash);
  result.longest = std::max(result.longest, run.report.choice_count);
  result.uncontrolled.insert(run.report.uncontrolled.begin(), run.report.uncontrolled.end());
  for (const ScheduleReport& other : run.other_ranks) {
    result.uncontrolled.insert(other.uncontrolled.begin(), other.uncontrolled.end());
  }
  if (run.failure) {
    const auto is_known = [&](const FoundFailure& known) { return known.first.failure.is_same(run.failure); };
    const auto known = std::find_if(result.failures.begin(), result.failures.end(), is_known);
    if (known == result.failures.end()) {
      result.failures.push_back({std::move(run), number, 1});
      return;
    }
    ++known->count;
    if (number < known->run) {  // runs end in another order than they begin
      std::swap(known->first, run);
      known->run = number;
    }
  }
  std::filesystem::remove_all(run.folder);
}

/// A part of the tree of all schedules: those that begin with these choices.
struct Branch {
  std::vector<std::uint32_t> choices;
  std::vector<ScheduleOption> sleep;  ///< operations that needn't be tried first: another branch has them
  std::uint64_t seen = 0;             ///< hash of the options that there were at these choices
};

std::uint64_t with_options(std::uint64_t seen, const ScheduleChoice& choice) {
  for (const ScheduleOption& option : choice.options) {
    seen = seen * 31 + std::hash<std::string>()(option.what) + static_cast<std::uint64_t>(option.stream) * 7 +
           option.number;
  }
  return seen;
}

bool sleeps(const std::vector<ScheduleOption>& sleep, const ScheduleOption& option) {
  return std::any_of(sleep.begin(), sleep.end(), [&](const auto& one) { return one.is_same_operation(option); });
}

/// Those that still needn't be tried first once the option has been taken.
std::vector<ScheduleOption> independent_of(const std::vector<ScheduleOption>& sleep, const ScheduleOption& option) {
  std::vector<ScheduleOption> left;
  for (const ScheduleOption& one : sleep) {
    if (is_independent(one, option)) left.push_back(one);
  }
  return left;
}

/// Walks along a run from the end of its branch's choices on, and adds the branches that leave it.
class Walk {
 public:
  Walk(const Branch& branch, bool reduces, std::vector<Branch>& branches)
      : sleep_(branch.sleep), prefix_(branch.choices.size()), reduces_(reduces), branches_(branches) {}

  /// Returns whether the run is a schedule of its own. Else it is one that another branch has, too.
  bool along(const ScheduleReport& report) {
    for (const ScheduleStep& step : report.steps) {
      if (!step.is_choice) {
        // It may have run without a choice, because there was nothing else.
        const ScheduleRan& ran = report.ran[step.index];
        ScheduleOption operation;
        operation.stream = ran.stream;
        operation.number = ran.number;
        if (choices_.size() >= prefix_ && sleeps(sleep_, operation)) return false;
        continue;
      }
      const ScheduleChoice& choice = report.choices[step.index];
      if (choice.taken >= choice.options.size()) return true;
      if (choices_.size() >= prefix_ && !pass(choice)) return false;
      choices_.push_back(choice.taken);
      seen_ = with_options(seen_, choice);
    }
    return true;
  }
  std::uint64_t seen_at(const ScheduleReport& report) const {
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < prefix_ && i < report.choices.size(); ++i) seen = with_options(seen, report.choices[i]);
    return seen;
  }

 private:
  bool pass(const ScheduleChoice& choice) {
    const ScheduleOption& taken = choice.options[choice.taken];
    const bool is_new = !sleeps(sleep_, taken);
    std::vector<ScheduleOption> earlier = sleep_;
    if (is_new && reduces_) earlier.push_back(taken);
    for (std::size_t i = 0; i < choice.options.size(); ++i) {
      const ScheduleOption& option = choice.options[i];
      if (i == choice.taken || sleeps(sleep_, option)) continue;
      Branch branch{choices_, reduces_ ? independent_of(earlier, option) : std::vector<ScheduleOption>(),
                    with_options(seen_, choice)};
      branch.choices.push_back(static_cast<std::uint32_t>(i));
      branches_.push_back(std::move(branch));
      if (reduces_) earlier.push_back(option);
    }
    sleep_ = independent_of(sleep_, taken);
    return is_new;
  }

  std::vector<ScheduleOption> sleep_;
  std::size_t prefix_;
  bool reduces_;
  std::vector<Branch>& branches_;
  std::vector<std::uint32_t> choices_;
  std::uint64_t seen_ = 0;
};

}  // namespace

SearchResult sample_schedules(ScheduleRuns& runs, const std::string& strategy, std::uint64_t first_seed,
                              const SearchLimits& limits, const SearchProgress& progress) {
  SearchResult result;
  std::uint64_t started = 0;
  for (;;) {
    while (runs.has_room() && !is_over(result, limits, started)) {
      runs.start({strategy, first_seed + started, {}, {}});
      ++started;
    }
    if (runs.is_empty()) return result;
    ScheduleRun run = runs.wait();
    const std::uint64_t number = run.schedule.seed - first_seed + 1;
    take(result, std::move(run), number);
    progress(result);
  }
}

SearchResult enumerate_schedules(ScheduleRuns& runs, std::uint64_t seed, bool reduces, const SearchLimits& limits,
                                 const SearchProgress& progress) {
  SearchResult result;
  std::vector<Branch> branches(1), begun;
  std::uint64_t started = 0;
  for (;;) {
    while (runs.has_room() && !branches.empty() && !is_over(result, limits, started)) {
      begun.push_back(std::move(branches.back()));
      branches.pop_back();
      runs.start({"", seed, begun.back().choices, {}});
      ++started;
    }
    if (runs.is_empty()) break;
    ScheduleRun run = runs.wait();
    if (run.interrupted) {
      std::filesystem::remove_all(run.folder);
      continue;
    }
    const auto branch = std::find_if(begun.begin(), begun.end(),
                                     [&](const Branch& one) { return one.choices == run.schedule.choices; });
    const ScheduleReport report = read_schedule_report(run.report_path(), ReportPart::all);
    Walk walk(*branch, reduces, branches);
    if (walk.seen_at(report) != branch->seen) {
      if (result.difference.empty()) {
        result.difference = run.failure.kind == "diverged"
                                ? run.failure.message
                                : "the first " + std::to_string(branch->choices.size()) +
                                      " choices were the same, and their options were others";
      }
    } else if (walk.along(report)) {
      ++result.classes;
    } else {
      ++result.redundant;
    }
    begun.erase(branch);
    take(result, std::move(run), result.runs + 1);
    progress(result);
  }
  result.is_complete = branches.empty() && result.difference.empty() && interrupted() == 0;
  return result;
}

}  // namespace anyplace::tool
