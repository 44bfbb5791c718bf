// SPDX-License-Identifier: Apache-2.0
#include "explore_shrink.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <utility>

#include "interruption.h"

namespace anyplace::tool {
namespace {

/// What is chosen, and whose it is: "fill 64 bytes of stream 3", where another stream may have the same to do.
std::string with_owner(const ScheduleOption& option) {
  if (option.is_operation()) return option.what + " of stream " + std::to_string(option.stream);
  return option.thread < 0 ? option.what : option.what + " of thread " + std::to_string(option.thread);
}

std::vector<Deviation> deviations_of(const ScheduleReport& report) {
  std::vector<Deviation> all;
  for (std::size_t i = 0; i < report.choices.size(); ++i) {
    const ScheduleChoice& choice = report.choices[i];
    if (choice.taken == choice.plain || std::max(choice.taken, choice.plain) >= choice.options.size()) continue;
    const ScheduleOption &taken = choice.options[choice.taken], &plain = choice.options[choice.plain];
    if (plain.name().empty() || taken.name().empty()) continue;  // a choice that only its number tells apart
    all.push_back({i, plain.name() + " " + taken.name(), with_owner(taken), with_owner(plain)});
  }
  return all;
}

Schedule schedule_with(std::uint64_t seed, const std::vector<Deviation>& deviations) {
  Schedule schedule;
  schedule.seed = seed;
  for (const Deviation& deviation : deviations) schedule.deviations.push_back(deviation.line);
  return schedule;
}

class Shrinking {
 public:
  Shrinking(ScheduleRuns& runs, const ScheduleRun& failing, std::uint64_t most)
      : runs_(runs), failure_(failing.failure), seed_(failing.schedule.seed), most_(most) {}

  /// Whether the schedule leads to the failure; then its run is the smallest so far.
  bool fails(Schedule schedule) {
    ++count_;
    ScheduleRun run = runs_.run(std::move(schedule));
    const bool is_same = run.failure.is_same(failure_);
    if (is_same) {
      std::swap(smallest_, run.folder);
      schedule_ = std::move(run.schedule);
      report_ = read_schedule_report(smallest_ + "/report", ReportPart::all);
    }
    if (!run.folder.empty()) std::filesystem::remove_all(run.folder);
    return is_same;
  }

  /// Leaves parts out until no part of one deviation can be left out.
  void reduce() {
    std::vector<Deviation> all = deviations_of(report_);
    std::size_t parts = 2;
    while (!all.empty() && may_go_on()) {
      parts = std::min(parts, all.size());
      if (const auto rest = without_a_part(all, parts)) {
        all = *rest;
        parts = std::max<std::size_t>(parts - 1, 2);
      } else if (parts == all.size()) {
        return;
      } else {
        parts *= 2;
      }
    }
  }

  const Schedule& schedule() const { return schedule_; }
  const ScheduleReport& report() const { return report_; }
  const std::string& folder() const { return smallest_; }
  std::uint64_t count() const { return count_; }

 private:
  bool may_go_on() const { return count_ < most_ && interrupted() == 0; }
  std::optional<std::vector<Deviation>> without_a_part(const std::vector<Deviation>& all, std::size_t parts) {
    for (std::size_t part = parts; part-- > 0 && may_go_on();) {  // the last ones are needed least often
      const auto begin = static_cast<std::ptrdiff_t>(all.size() * part / parts);
      const auto end = static_cast<std::ptrdiff_t>(all.size() * (part + 1) / parts);
      std::vector<Deviation> rest(all.begin(), all.begin() + begin);
      rest.insert(rest.end(), all.begin() + end, all.end());
      // Some of the rest may no longer come up without that part.
      if (fails(schedule_with(seed_, rest))) return deviations_of(report_);
    }
    return {};
  }

  ScheduleRuns& runs_;
  RunFailure failure_;
  std::uint64_t seed_;
  std::uint64_t most_;
  std::uint64_t count_ = 0;
  std::string smallest_;
  Schedule schedule_;
  ScheduleReport report_;
};

}  // namespace

ShrunkFailure shrink_failure(ScheduleRuns& runs, const ScheduleRun& failing, std::uint64_t most) {
  ShrunkFailure shrunk;
  shrunk.is_tried = true;
  const std::uint64_t seed = failing.schedule.seed;
  const ScheduleReport report = read_schedule_report(failing.report_path(), ReportPart::all);
  const std::vector<Deviation> all = deviations_of(report);
  shrunk.before = all.size();
  Shrinking shrinking(runs, failing, most);
  const bool is_shrinkable = shrinking.fails({"", seed, {}, {}}) || shrinking.fails(schedule_with(seed, all));
  if (is_shrinkable) shrinking.reduce();
  // Where deviations by their names don't lead there, all choices by their numbers may.
  shrunk.is_replayed = is_shrinkable || shrinking.fails({"", seed, taken_choices(report), {}});
  shrunk.deviations = shrunk.is_replayed ? deviations_of(shrinking.report()) : all;
  shrunk.schedule = is_shrinkable        ? schedule_with(seed, shrunk.deviations)
                    : shrunk.is_replayed ? shrinking.schedule()
                                         : Schedule{"", seed, taken_choices(report), {}};
  shrunk.runs = shrinking.count();
  shrunk.folder = shrunk.is_replayed ? shrinking.folder() : failing.folder;
  return shrunk;
}

}  // namespace anyplace::tool
