// SPDX-License-Identifier: Apache-2.0
#include "explore_shrink.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

namespace anyplace::tool {
namespace {

/// The choices that deviate from the plain schedule, by their numbers.
using Deviating = std::vector<std::pair<std::uint64_t, std::int64_t>>;

Deviating deviating(const ScheduleReport& report) {
  Deviating all;
  for (std::size_t i = 0; i < report.choices.size(); ++i) {
    if (report.choices[i].taken != report.choices[i].plain) all.emplace_back(i, report.choices[i].taken);
  }
  return all;
}

/// Choices that are the plain schedule's but for these.
std::vector<std::int64_t> choices_with(const Deviating& deviations) {
  std::vector<std::int64_t> choices;
  for (const auto& [choice, taken] : deviations) {
    choices.resize(choice, Schedule::plain_choice);
    choices.push_back(taken);
  }
  return choices;
}

class Shrinking {
 public:
  Shrinking(ScheduleRuns& runs, const ScheduleRun& failing, std::uint64_t most)
      : runs_(runs), failure_(failing.failure), most_(most) {}

  /// Whether these deviations lead to the failure; then the run is the smallest so far.
  bool fails(const Deviating& deviations) { return fails_with(choices_with(deviations)); }

  bool fails_with(std::vector<std::int64_t> choices) {
    ++count_;
    ScheduleRun run = runs_.run({"", 0, std::move(choices)});
    const bool is_same = run.failure.is_same(failure_);
    if (is_same) {
      std::swap(smallest_, run.folder);
      report_ = read_schedule_report(smallest_ + "/report", ReportPart::all);
    }
    if (!run.folder.empty()) std::filesystem::remove_all(run.folder);
    return is_same;
  }

  /// Leaves parts out until no part of one deviation can be left out.
  void reduce() {
    Deviating all = deviating(report_);
    std::size_t parts = 2;
    while (!all.empty() && count_ < most_) {
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

  const ScheduleReport& report() const { return report_; }
  const std::string& folder() const { return smallest_; }
  std::uint64_t count() const { return count_; }

 private:
  std::optional<Deviating> without_a_part(const Deviating& all, std::size_t parts) {
    for (std::size_t part = parts; part-- > 0 && count_ < most_;) {  // the last ones are needed least often
      const auto begin = static_cast<std::ptrdiff_t>(all.size() * part / parts);
      const auto end = static_cast<std::ptrdiff_t>(all.size() * (part + 1) / parts);
      Deviating rest(all.begin(), all.begin() + begin);
      rest.insert(rest.end(), all.begin() + end, all.end());
      // A later choice can have become another one, which the run then has told.
      if (fails(rest)) return deviating(report_).size() <= rest.size() ? deviating(report_) : rest;
    }
    return {};
  }

  ScheduleRuns& runs_;
  RunFailure failure_;
  std::uint64_t most_;
  std::uint64_t count_ = 0;
  std::string smallest_;
  ScheduleReport report_;
};

}  // namespace

ShrunkFailure shrink_failure(ScheduleRuns& runs, const ScheduleRun& failing, std::uint64_t most) {
  ShrunkFailure shrunk;
  shrunk.is_tried = true;
  const ScheduleReport report = read_schedule_report(failing.report_path(), ReportPart::all);
  const Deviating all = deviating(report);
  shrunk.before = all.size();
  Shrinking shrinking(runs, failing, most);
  shrunk.is_replayed = shrinking.fails({}) || shrinking.fails_with(taken_choices(report));
  if (shrunk.is_replayed) shrinking.reduce();
  const ScheduleReport& smallest = shrunk.is_replayed ? shrinking.report() : report;
  shrunk.choices = taken_choices(smallest);
  for (const auto& [index, taken] : deviating(smallest)) {
    const ScheduleChoice& choice = smallest.choices[index];
    const auto what = [&](std::uint64_t option) {
      return option < choice.options.size() ? choice.options[option].what : std::string("?");
    };
    shrunk.deviations.push_back({index, what(static_cast<std::uint64_t>(taken)), what(choice.plain)});
  }
  shrunk.runs = shrinking.count();
  shrunk.folder = shrunk.is_replayed ? shrinking.folder() : failing.folder;
  return shrunk;
}

}  // namespace anyplace::tool
