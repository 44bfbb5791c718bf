// SPDX-License-Identifier: Apache-2.0
#include "tools/trace_summary.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "input_file.h"
#include "json.h"
#include "terminal.h"
#include "text.h"
#include "trace_figures.h"
#include "trace_figures_json.h"

namespace anyplace::tool {
namespace {

using Rows = std::vector<std::vector<std::string>>;

struct Summed {
  TraceFigures figures;
  bool is_cut = false;
};

Summed summed(const std::string& path) {
  try {
    InputFile file(path);
    const RunTrace trace = read_run_trace(file.take_rest());
    return {figures_of(trace), trace.is_cut};
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(printable(path) + ": " + error.what());
  }
}

std::string time_of(std::uint64_t nanoseconds) {
  const auto value = static_cast<double>(nanoseconds);
  if (nanoseconds < 1'000) return fmt::format("{} ns", nanoseconds);
  if (nanoseconds < 1'000'000) return fmt::format("{:.1f} us", value / 1e3);
  if (nanoseconds < 1'000'000'000) return fmt::format("{:.2f} ms", value / 1e6);
  return fmt::format("{:.3f} s", value / 1e9);
}

/// A time, and the share of a whole that it is.
std::string share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return time_of(part);
  return fmt::format("{} ({:.0f} %)", time_of(part), 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// ---- JSON

/// The numbers of both, the other's subtracted.
Json difference(const Json& mine, const Json& other) {
  Json all = Json::object();
  for (const auto& [key, value] : mine.items()) {
    if (!other.contains(key)) continue;
    if (value.is_object()) {
      all[key] = difference(value, other.at(key));
    } else if (value.is_number() && other.at(key).is_number()) {
      all[key] = value.get<std::int64_t>() - other.at(key).get<std::int64_t>();
    }
  }
  return all;
}

// ---- Text

void add_devices(std::string& text, const TraceFigures& figures) {
  for (const auto& [place, device] : figures.devices) {
    text += "\n" + painted(Paint::heading, printable(place)) + "\n";
    text += field("busy", share(device.busy_ns, figures.length_ns));
    text += field("kernels", time_of(device.kernels_ns));
    text += field("copies",
                  time_of(device.copies_ns) + ", of which under kernels " + share(device.overlap_ns, device.copies_ns));
    text += field("idle between", time_of(device.idle_ns));
    for (const IdleGap& gap : device.gaps) {
      text += field("gap",
                    time_of(gap.length_ns) + " at " + time_of(gap.begin_ns) + ", ended by " + printable(gap.ended_by));
    }
    Rows rows{{"OPERATION", "COUNT", "TIME", "BYTES", "GB/S"}};
    for (const auto& [name, one] : device.operations) {
      const bool has_rate = one.bytes != 0 && one.total_ns != 0;
      rows.push_back(
          {name, std::to_string(one.count), time_of(one.total_ns), one.bytes == 0 ? "" : bytes_text(one.bytes),
           has_rate ? fmt::format("{:.2f}", static_cast<double>(one.bytes) / static_cast<double>(one.total_ns)) : ""});
    }
    text += table(rows);
  }
}

void add_stalls(std::string& text, const TraceFigures& figures) {
  if (figures.stalls.empty()) return;
  Rows rows{{"THE HOST WAITED IN", "", "COUNT", "TIME", "LONGEST", "FOR"}};
  for (const auto& [name, stall] : figures.stalls) {
    rows.push_back({name, stall.is_implicit ? "implicitly" : "", std::to_string(stall.count), time_of(stall.total_ns),
                    time_of(stall.longest_ns), stall.longest_for});
  }
  text += "\n" + table(rows);
}

void add_annotations(std::string& text, const TraceFigures& figures) {
  if (!figures.ranges.empty()) {
    Rows rows{{"RANGE", "COUNT", "TIME", "LONGEST", "SUBMISSIONS", "ON DEVICES"}};
    for (const auto& [name, range] : figures.ranges) {
      rows.push_back({name, std::to_string(range.count), time_of(range.total_ns), time_of(range.longest_ns),
                      std::to_string(range.submissions), time_of(range.device_ns)});
    }
    text += "\n" + table(rows);
  }
  if (figures.marks.empty()) return;
  Rows rows{{"MARK", "COUNT"}};
  for (const auto& [name, count] : figures.marks) rows.push_back({name, std::to_string(count)});
  text += "\n" + table(rows);
}

void add_calls(std::string& text, const TraceFigures& figures) {
  std::vector<std::pair<std::string, CallFigures>> calls(figures.calls.begin(), figures.calls.end());
  std::sort(calls.begin(), calls.end(),
            [](const auto& a, const auto& b) { return a.second.total_ns > b.second.total_ns; });
  Rows rows{{"CALL", "COUNT", "FAILED", "TIME", "LONGEST"}};
  for (const auto& [name, call] : calls) {
    rows.push_back({name, std::to_string(call.count), call.failures == 0 ? "" : std::to_string(call.failures),
                    time_of(call.total_ns), time_of(call.longest_ns)});
  }
  text += "\n" + table(rows);
}

std::string summary_text(const Summed& of) {
  const TraceFigures& figures = of.figures;
  std::string text =
      fmt::format("{}, {} submissions, {} executions{}\n", time_of(figures.length_ns), figures.submissions,
                  figures.executions, of.is_cut ? ", cut in the middle of a packet" : "");
  text += field("a submission",
                time_of(figures.submit_ns) + " in the call, " + time_of(figures.launch_ns) + " to its execution");
  text += field("critical path", time_of(figures.critical_ns));
  std::vector<std::pair<std::string, std::uint64_t>> path(figures.critical.begin(), figures.critical.end());
  std::sort(path.begin(), path.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [name, time] : path) {
    text += field("  " + printable(name), share(time, figures.critical_ns));
  }
  add_devices(text, figures);
  add_stalls(text, figures);
  add_annotations(text, figures);
  add_calls(text, figures);
  return text;
}

void add_numbers(Rows& rows, const std::string& name, const Json& mine, const Json& other) {
  for (const auto& [key, value] : mine.items()) {
    if (!other.contains(key)) continue;
    const std::string full = name.empty() ? key : name + ", " + key;
    if (value.is_object()) {
      add_numbers(rows, full, value, other.at(key));
    } else if (value.is_number() && other.at(key).is_number() && value != other.at(key)) {
      const auto now = value.get<std::int64_t>(), then = other.at(key).get<std::int64_t>();
      const double percent =
          100.0 * static_cast<double>(now - then) / static_cast<double>(std::max<std::int64_t>(then, 1));
      rows.push_back({full, std::to_string(now), std::to_string(then), fmt::format("{:+.0f} %", percent)});
    }
  }
}

/// What is wrong with the overlap of copies and kernels; "" if nothing is.
std::string overlap_problems(const TraceFigures& figures, double least_percent) {
  std::string text;
  bool any_copies = false;
  for (const auto& [place, device] : figures.devices) {
    if (device.copies_ns == 0) continue;
    any_copies = true;
    const double percent = 100.0 * static_cast<double>(device.overlap_ns) / static_cast<double>(device.copies_ns);
    if (percent >= least_percent) continue;
    text += fmt::format("anyplace: {}: {:.1f} % of the time of copies is under kernels, less than {}\n",
                        printable(place), percent, least_percent);
  }
  return any_copies ? text : "anyplace: no device made a copy, so there is no overlap\n";
}

}  // namespace

TraceSummaryCommand::TraceSummaryCommand(CLI::App& app)
    : command_(
          app.add_subcommand("trace-summary", "Says where the time of a run went that the layer trace wrote down")) {
  command_->add_option("FILE", file_, "The file that the layer wrote; - is standard input")->required();
  command_->add_option("--compare", other_, "Another run's file: what is different from that");
  command_
      ->add_option("--least-overlap", least_overlap_,
                   "Percent of the time of copies that has to be under kernels, on each device; else the exit "
                   "status is 1")
      ->check(CLI::Range(0.0, 100.0));
  command_->add_flag("--json", json_, "Write JSON");
}

bool TraceSummaryCommand::chosen() const { return command_->parsed(); }

Answer TraceSummaryCommand::run() const {
  try {
    const Summed mine = summed(file_);
    const std::string problems = least_overlap_ < 0 ? "" : overlap_problems(mine.figures, least_overlap_);
    const int status = problems.empty() ? exit_ok : exit_failed;
    if (other_.empty())
      return {json_ ? dump(figures_json(mine.figures, mine.is_cut)) : summary_text(mine), problems, status};
    const Summed other = summed(other_);
    const Json now = figures_json(mine.figures, mine.is_cut), then = figures_json(other.figures, other.is_cut);
    if (json_) {
      return {dump(Json{{"this", now}, {"other", then}, {"difference", difference(now, then)}}), problems, status};
    }
    Rows rows{{"", "THIS", "OTHER", "CHANGE"}};
    add_numbers(rows, "", now, then);
    return {table(rows), problems, status};
  } catch (const std::runtime_error& error) {
    return {"", std::string("anyplace: ") + error.what() + "\n", exit_usage};
  }
}

}  // namespace anyplace::tool
