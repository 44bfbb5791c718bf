// SPDX-License-Identifier: Apache-2.0
#include "explore_shrink.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
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

/// An operation by its stream, and by how many of the stream's come before it.
using OperationName = std::pair<std::int64_t, std::uint64_t>;

/// The operations that the plain schedule would have taken, where something else was.
std::set<OperationName> postponed_in(const ScheduleReport& report) {
  std::set<OperationName> all;
  for (const ScheduleChoice& choice : report.choices) {
    if (choice.taken == choice.plain || choice.plain >= choice.options.size()) continue;
    const ScheduleOption& plain = choice.options[choice.plain];
    if (plain.is_operation()) all.emplace(plain.stream, plain.number);
  }
  return all;
}

/// The names of all that can come before a stream's operation: calls of threads, and operations of other streams.
std::vector<std::string> others_than(std::int64_t stream, const ScheduleReport& report) {
  std::map<std::int64_t, std::uint64_t> calls;  // of a thread, the last one that is known
  std::set<std::string> operations;
  for (const ScheduleChoice& choice : report.choices) {
    for (const ScheduleOption& option : choice.options) {
      if (option.thread >= 0 && option.way.empty()) {
        calls[option.thread] = std::max(calls[option.thread], option.number);
      } else if (option.is_operation() && option.stream != stream) {
        operations.insert(option.name());
      }
    }
  }
  std::vector<std::string> names;
  for (const auto& [thread, last] : calls) {
    for (std::uint64_t call = 0; call <= last; ++call) {
      names.push_back("t" + std::to_string(thread) + "." + std::to_string(call));
    }
  }
  names.insert(names.end(), operations.begin(), operations.end());
  return names;
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

  /// Where an operation comes late, it may be one behind it in its stream that has to: postpones that one instead.
  void postpone_later_ones() {
    constexpr std::uint64_t reach = 3;
    for (const auto& [stream, number] : postponed_in(report_)) {
      for (std::uint64_t first = number + 1; first <= number + reach && may_go_on(); ++first) {
        const std::optional<Schedule> late = postponing(stream, first);
        const auto few = late ? deviations_if_it_fails(*late) : std::nullopt;
        if (!few || few->size() >= deviations_of(report_).size()) continue;
        // Most lines of `late` didn't come up, and those that did have to lead there alone.
        if (!fails(schedule_with(seed_, *few))) continue;
        reduce();
        return postpone_later_ones();
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

  /// What deviates in a run of the schedule, which isn't kept; none if it doesn't lead to the failure.
  std::optional<std::vector<Deviation>> deviations_if_it_fails(Schedule schedule) {
    ++count_;
    const ScheduleRun run = runs_.run(std::move(schedule));
    std::optional<std::vector<Deviation>> found;
    if (run.failure.is_same(failure_)) found = deviations_of(read_schedule_report(run.report_path(), ReportPart::all));
    std::filesystem::remove_all(run.folder);
    return found;
  }

  /// Has the stream's operations from `first` on wait for all else; none if that is too much for a file.
  std::optional<Schedule> postponing(std::int64_t stream, std::uint64_t first) const {
    constexpr std::size_t most_lines = 10'000;
    std::uint64_t last = first;
    for (const ScheduleRan& ran : report_.ran) {
      if (ran.stream == stream) last = std::max(last, ran.number);
    }
    const std::vector<std::string> others = others_than(stream, report_);
    if ((last - first + 1) * others.size() > most_lines) return {};
    Schedule schedule;
    schedule.seed = seed_;
    for (std::uint64_t number = first; number <= last; ++number) {
      const std::string name = "s" + std::to_string(stream) + "." + std::to_string(number) + " ";
      for (const std::string& other : others) schedule.deviations.push_back(name + other);
    }
    return schedule;
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
  if (is_shrinkable) {
    shrinking.reduce();
    shrinking.postpone_later_ones();
  }
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
