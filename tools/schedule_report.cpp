// SPDX-License-Identifier: Apache-2.0
#include "schedule_report.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "text.h"

namespace anyplace::tool {
namespace {

using Line = nlohmann::json;

constexpr std::int64_t most_ranks = 4096;  // A report that names more is damaged.

/// An element of an array of the line, or null where there is none.
const Line& element(const Line& line, const char* name, std::size_t index) {
  static const Line none;
  const auto found = line.find(name);
  return found != line.end() && found->is_array() && index < found->size() ? (*found)[index] : none;
}

std::int64_t number_or(const Line& value, std::int64_t otherwise) {
  return value.is_number_integer() ? value.get<std::int64_t>() : otherwise;
}

std::string text_of(const Line& value) { return value.is_string() ? value.get<std::string>() : ""; }

ScheduleAccess access_of(const Line& value) {
  ScheduleAccess access;
  access.is_all = value.is_string();
  if (!value.is_array()) return access;
  for (const Line& range : value) {
    if (!range.is_array() || range.size() != 3) {
      access.is_all = true;
      continue;
    }
    access.ranges.push_back({static_cast<std::uint64_t>(number_or(range[0], 0)),
                             static_cast<std::uint64_t>(number_or(range[1], 0)),
                             static_cast<std::uint64_t>(number_or(range[2], 0))});
  }
  return access;
}

ScheduleChoice choice_of(const Line& line) {
  ScheduleChoice choice;
  choice.kind = text_of(line.value("kind", Line()));
  choice.at_thread = number_or(line.value("thread", Line()), -1);
  choice.taken = static_cast<std::uint32_t>(number_or(line.value("taken", Line()), 0));
  choice.plain = static_cast<std::uint32_t>(number_or(line.value("default", Line()), 0));
  const auto count = static_cast<std::size_t>(number_or(line.value("options", Line()), 0));
  for (std::size_t i = 0; i < count; ++i) {
    ScheduleOption option;
    option.what = text_of(element(line, "what", i));
    option.thread = number_or(element(line, "threads", i), -1);
    option.device = number_or(element(line, "devices", i), -1);
    option.stream = number_or(element(line, "streams", i), -1);
    option.branch = number_or(element(line, "branches", i), 0);
    option.number = static_cast<std::uint64_t>(number_or(element(line, "numbers", i), 0));
    option.reads = access_of(element(line, "reads", i));
    option.writes = access_of(element(line, "writes", i));
    if (const std::int64_t call = number_or(line.value("call", Line()), -1); call >= 0) {
      option.way = "c" + std::to_string(choice.at_thread) + "." + std::to_string(call) + "." + std::to_string(i);
    }
    choice.options.push_back(std::move(option));
  }
  return choice;
}

ScheduleRan ran_of(const Line& line) {
  const auto number = [&](const char* name) {
    return static_cast<std::uint64_t>(number_or(line.value(name, Line()), 0));
  };
  return {number_or(line.value("device", Line()), -1),
          number_or(line.value("stream", Line()), -1),
          number("number"),
          text_of(line.value("what", Line())),
          number("begin_ns"),
          number("end_ns")};
}

void add_line(const Line& line, ScheduleReport& report) {
  if (line.contains("choice")) {
    report.steps.push_back({true, report.choices.size()});
    report.choices.push_back(choice_of(line));
  } else if (line.contains("ran") && line.contains("what")) {
    report.steps.push_back({false, report.ran.size()});
    report.ran.push_back(ran_of(line));
  } else if (line.contains("anyplace_cpu_sim_report")) {
    const Line seed = line.value("seed", Line());
    if (seed.is_number_unsigned()) report.seed = seed.get<std::uint64_t>();
    report.profile = text_of(line.value("profile", Line()));
    report.ranks =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(number_or(line.value("ranks", Line()), 1), 1, most_ranks));
  } else if (line.contains("end")) {
    report.is_ended = true;
    report.choice_count = static_cast<std::uint64_t>(number_or(line.value("choices", Line()), 0));
    report.submissions = static_cast<std::uint64_t>(number_or(line.value("submissions", Line()), 0));
    report.hash = text_of(line.value("hash", Line()));
  } else if (line.contains("deadlock")) {
    report.deadlock = text_of(line["deadlock"]);
  } else if (line.contains("diverged")) {
    report.diverged = text_of(line["diverged"]);
  } else if (line.contains("uncontrolled")) {
    report.uncontrolled.push_back(text_of(line["uncontrolled"]));
  }
}

bool conflict(const ScheduleAccess& writes, const ScheduleOption& other) {
  if (!writes.is_any()) return false;
  if (writes.is_all) return other.reads.is_any() || other.writes.is_any();
  for (const ScheduleAccess* access : {&other.reads, &other.writes}) {
    if (access->is_all) return true;
    for (const ScheduleRange& range : access->ranges) {
      const auto overlaps = [&](const ScheduleRange& written) { return written.overlaps(range); };
      if (std::any_of(writes.ranges.begin(), writes.ranges.end(), overlaps)) return true;
    }
  }
  return false;
}

/// What a person needs of a line: beside its numbers what was chosen, or what ran.
std::string shown(const std::string& text) {
  const Line line = Line::parse(text, nullptr, false);
  if (!line.is_object()) return in_quotes(text);
  if (line.contains("choice")) {
    const ScheduleChoice choice = choice_of(line);
    std::vector<std::string> options;
    for (const ScheduleOption& option : choice.options) options.push_back(option.what);
    return "choice " + line["choice"].dump() + " between " + joined(options);
  }
  if (line.contains("end")) return "the end";
  if (line.contains("ran")) return ran_of(line).what + " of stream " + std::to_string(ran_of(line).stream);
  return in_quotes(text);
}

/// Where two lines differ that are shown alike: "begin_ns 0, and then 120"; "" if they don't.
std::string other_value(const std::string& text, const std::string& other) {
  const Line first = Line::parse(text, nullptr, false), second = Line::parse(other, nullptr, false);
  if (!first.is_object() || !second.is_object() || shown(text) != shown(other)) return "";
  for (const auto& [key, value] : first.items()) {
    const Line others = second.value(key, Line());
    if (value != others) return ": its " + key + " was " + value.dump() + ", and then " + others.dump();
  }
  return "";
}

}  // namespace

std::string ScheduleOption::name() const {
  if (!way.empty()) return way;
  if (thread >= 0) return "t" + std::to_string(thread) + "." + std::to_string(number);
  return stream < 0 ? "" : "s" + std::to_string(stream) + "." + std::to_string(number);
}

bool is_independent(const ScheduleOption& one, const ScheduleOption& other) {
  if (!one.is_operation() || !other.is_operation() || one.is_same_operation(other)) return false;
  return !conflict(one.writes, other) && !conflict(other.writes, one) && !(one.reads.is_all && other.writes.is_any()) &&
         !(other.reads.is_all && one.writes.is_any());
}

ScheduleReport read_schedule_report(const std::string& path, ReportPart part) {
  ScheduleReport report;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    report.is_there = true;
    const std::string_view begin = std::string_view(text).substr(0, 9);
    if (part == ReportPart::ends && (begin == "{\"choice\"" || begin.starts_with("{\"ran\""))) continue;
    const Line line = Line::parse(text, nullptr, false);
    if (line.is_object()) add_line(line, report);
  }
  return report;
}

std::string report_of_rank(const std::string& path, std::uint32_t rank) {
  return rank == 0 ? path : path + "." + std::to_string(rank);
}

std::string first_difference(const std::string& path, const std::string& other, std::uint64_t skipped) {
  std::ifstream one(path), two(other);
  std::string first, second;
  for (std::uint64_t number = 1;; ++number) {
    const bool has_first = static_cast<bool>(std::getline(one, first));
    const bool has_second = static_cast<bool>(std::getline(two, second));
    if (!has_first && !has_second) return "";
    if (has_first && has_second && (first == second || number <= skipped)) continue;
    if (has_first && has_second) {
      if (const std::string value = other_value(first, second); !value.empty()) {
        return "line " + std::to_string(number) + " of the report, " + shown(first) + value;
      }
    }
    return "line " + std::to_string(number) + " of the report was " + (has_first ? shown(first) : "missing") +
           ", and then " + (has_second ? shown(second) : "missing");
  }
}

}  // namespace anyplace::tool
