// SPDX-License-Identifier: Apache-2.0
#include "top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "text.h"

namespace anyplace::tool {
namespace {

constexpr std::size_t least_bar = 8;
constexpr std::size_t most_bar = 42;
constexpr std::size_t most_name = 40;
const std::string not_known = "-";

/// The time of day in the machine's time zone: "01:14:34".
std::string clock_text(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  if (localtime_r(&seconds, &parts) == nullptr) return "";
  return fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f}%", *share * 100) : not_known;
}

std::optional<double> share_of(const std::optional<std::uint64_t>& used, const std::optional<std::uint64_t>& total) {
  if (!used || !total || *total == 0) return std::nullopt;
  return static_cast<double>(*used) / static_cast<double>(*total);
}

/// An amount and its total in the total's unit: "10.2/79.6 GiB"; "-/79.6 GiB" if the amount is unknown, "-" if both
/// are.
std::string of_total(const std::optional<std::uint64_t>& used, const std::optional<std::uint64_t>& total) {
  if (!used && !total) return not_known;
  if (!total) return bytes_text(used);
  const std::string all = bytes_text(total);
  if (!used) return not_known + "/" + all;
  double amount = static_cast<double>(*used);
  for (std::uint64_t left = *total; left >= 1024; left /= 1024) amount /= 1024;
  return fmt::format("{:.1f}/{}", amount, all);
}

/// Two figures of one unit: "310/700 W", "1980/2619 MHz".
std::string both(const std::optional<double>& a, const std::optional<double>& b, const char* unit) {
  const auto text = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.0f}", *value) : not_known;
  };
  if (!a && !b) return not_known;
  return b ? text(a) + "/" + text(b) + " " + unit : text(a) + " " + unit;
}

std::optional<double> megahertz(const std::optional<std::uint64_t>& hertz) {
  return hertz ? std::optional(static_cast<double>(*hertz) / 1e6) : std::nullopt;
}

std::optional<Paint> paint_of(const std::optional<double>& share) {
  if (!share) return std::nullopt;
  return *share < 0.8 ? Paint::good : *share < 0.95 ? Paint::doubtful : Paint::bad;
}

Column text_column(const char* heading, int rank, bool right) {
  Column column;
  column.heading = heading;
  column.rank = rank;
  column.right = right;
  return column;
}

Column bar_column(int rank) {
  Column column;
  column.rank = rank;
  column.gap = 1;
  column.width = least_bar;
  column.most = most_bar;
  return column;
}

std::vector<Line> device_lines(const std::vector<TopDevice>& devices, std::size_t columns) {
  Column place = text_column("PLACE", 0, false);
  Column name = text_column("NAME", 9, false);
  Column busy = text_column("UTIL", 1, true);
  Column busy_bar = bar_column(3);
  Column memory = text_column("MEMORY", 2, true);
  Column memory_bar = bar_column(4);
  Column temperature = text_column("TEMP", 5, true);
  Column power = text_column("POWER", 6, true);
  Column clocks = text_column("CLOCKS", 7, true);
  std::vector<std::string> remarks;
  for (const TopDevice& device : devices) {
    const DeviceSample now = device.sample.value_or(DeviceSample{});
    const std::optional<double> full = share_of(now.memory_used_bytes, now.memory_total_bytes);
    place.cells.push_back({Paint::name, printable(device.place)});
    name.cells.push_back({{}, device.name.empty() ? not_known : cut(printable(device.name), most_name)});
    busy.cells.push_back({{}, percent(now.compute_utilization)});
    busy_bar.cells.push_back({Paint::good, ""});
    busy_bar.shares.push_back(now.compute_utilization);
    memory.cells.push_back({{}, of_total(now.memory_used_bytes, now.memory_total_bytes)});
    memory_bar.cells.push_back({paint_of(full), ""});
    memory_bar.shares.push_back(full);
    temperature.cells.push_back(
        {{}, now.temperature_celsius ? fmt::format("{:.0f} C", *now.temperature_celsius) : not_known});
    power.cells.push_back({{}, both(now.power_watts, now.power_limit_watts, "W")});
    clocks.cells.push_back({{}, both(megahertz(now.core_clock_hz), megahertz(now.memory_clock_hz), "MHz")});
    remarks.push_back(device.sample ? "" : printable(device.problem));
  }
  return fitted_table({std::move(place), std::move(name), std::move(busy), std::move(busy_bar), std::move(memory),
                       std::move(memory_bar), std::move(temperature), std::move(power), std::move(clocks)},
                      devices.size(), columns, remarks);
}

std::string kind_of(const DeviceProcess& process) {
  const bool compute = process.compute.value_or(false);
  const bool graphics = process.graphics.value_or(false);
  return compute && graphics ? "both" : compute ? "compute" : graphics ? "graphics" : not_known;
}

std::vector<Line> process_lines(const std::vector<TopProcess>& processes, std::size_t columns) {
  Column place = text_column("PLACE", 0, false);
  Column id = text_column("PID", 1, true);
  Column memory = text_column("MEMORY", 2, true);
  Column busy = text_column("UTIL", 4, true);
  Column kind = text_column("KIND", 5, false);
  Column name = text_column("PROCESS", 3, false);
  for (const TopProcess& shown : processes) {
    const DeviceProcess& process = shown.process;
    place.cells.push_back({Paint::name, printable(shown.place)});
    id.cells.push_back({{}, std::to_string(process.id)});
    memory.cells.push_back({{}, process.memory_bytes ? bytes_text(process.memory_bytes) : not_known});
    busy.cells.push_back({{}, percent(process.compute_utilization)});
    kind.cells.push_back({{}, kind_of(process)});
    name.cells.push_back({{}, process.name.empty() ? not_known : printable(process.name)});
  }
  return fitted_table(
      {std::move(place), std::move(id), std::move(memory), std::move(busy), std::move(kind), std::move(name)},
      processes.size(), columns);
}

std::string counted(std::size_t number, const char* one, const char* many) {
  return std::to_string(number) + " " + (number == 1 ? one : many);
}

Line title_line(const TopSnapshot& snapshot, const TopState& state, const TopFrame& frame) {
  std::string rest = "  " + clock_text(snapshot.time) + "  " + counted(snapshot.devices.size(), "device", "devices");
  if (!frame.every.empty()) rest += "  " + frame.every;
  rest += std::string("  by ") + to_string(state.sort) + "  -: unknown";
  return cut(Line{{Paint::heading, "anyplace top"}, {{}, rest}}, frame.columns);
}

/// The line that names the devices whose processes are unknown.
Line untold_line(const TopSnapshot& snapshot, std::size_t columns) {
  std::string places;
  for (const TopDevice& device : snapshot.devices) {
    if (device.processes || !device.sample) continue;
    places += (places.empty() ? "" : ", ") + printable(device.place);
  }
  return places.empty() ? Line{} : cut(Line{{{}, "processes unknown of " + places}}, columns);
}

Line keys_line(const TopState& state, std::size_t columns) {
  if (state.typing) return cut(Line{{Paint::heading, "filter: "}, {{}, state.filter + "_"}}, columns);
  std::string keys = "q quit  s sort  / filter  arrows scroll  r sample now";
  if (!state.filter.empty()) keys = "filter " + state.filter + " (Escape drops it)  " + keys;
  return cut(Line{{Paint::heading, keys}}, columns);
}

void append(std::vector<Line>& lines, const std::vector<Line>& more, std::size_t first, std::size_t count) {
  for (std::size_t i = first; i < more.size() && i < first + count; ++i) lines.push_back(more[i]);
}

Line more_line(std::size_t number, const char* what, std::size_t columns) {
  return cut(Line{{{}, fmt::format("and {} more {}", number, what)}}, columns);
}

/// Appends at most `limit` lines; if some devices have no room, the last line says how many.
void append_devices(std::vector<Line>& lines, const std::vector<Line>& table, std::size_t limit, std::size_t columns) {
  if (table.size() <= limit) {
    append(lines, table, 0, table.size());
    return;
  }
  const std::size_t shown = std::max<std::size_t>(limit, 2) - 1;
  append(lines, table, 0, shown);
  lines.push_back(more_line(table.size() - shown, "devices: --place shows some of them", columns));
}

void append_processes(std::vector<Line>& lines, const TopSnapshot& snapshot, TopState& state, const TopFrame& frame,
                      std::size_t limit) {
  const std::vector<TopProcess> processes = shown_processes(snapshot, state);
  const Line untold = untold_line(snapshot, frame.columns);
  const std::size_t taken = 1 + (untold.empty() ? 0 : 1);  // the heading, and the line below the processes
  const std::size_t room = limit > taken ? limit - taken : 0;
  const std::size_t last = processes.size() > room ? processes.size() - room : 0;
  state.first_process = std::min(state.first_process, last);
  if (limit == 0) return;
  if (processes.empty() && !untold.empty() && state.filter.empty()) {
    // The devices can't tell their processes, so "no processes" would be wrong.
  } else if (processes.empty()) {
    const char* const text = state.filter.empty() ? "no processes" : "no process that the filter lets through";
    lines.push_back(cut(Line{{{}, text}}, frame.columns));
  } else {
    const std::vector<Line> table = process_lines(processes, frame.columns);
    lines.push_back(table.front());
    append(lines, table, 1 + state.first_process, room);
  }
  if (!untold.empty() && (limit > 1 || processes.empty())) lines.push_back(untold);
}

}  // namespace

std::vector<Line> top_lines(const TopSnapshot& snapshot, TopState& state, const TopFrame& frame) {
  constexpr std::size_t no_end = 1u << 20;
  const std::size_t rows = frame.rows == 0 ? no_end : frame.rows;
  const bool with_keys = frame.rows >= 3;
  std::size_t left = rows - 1 - (with_keys ? 1 : 0);

  std::vector<Line> lines{title_line(snapshot, state, frame)};
  const std::vector<Line> devices = device_lines(sorted_devices(snapshot, state), frame.columns);
  // The processes get at least a third of the screen.
  append_devices(lines, devices, std::max<std::size_t>(left - left / 3, 2), frame.columns);
  left = rows - std::min(rows, lines.size() + (with_keys ? 1 : 0));
  if (left >= 3) {
    lines.emplace_back();
    append_processes(lines, snapshot, state, frame, left - 1);
  }
  if (frame.rows == 0) return lines;
  if (lines.size() > rows - (with_keys ? 1 : 0)) lines.resize(rows - (with_keys ? 1 : 0));
  if (with_keys) {
    lines.resize(rows - 1);
    lines.push_back(keys_line(state, frame.columns));
  }
  return lines;
}

std::string plain_text(const Line& line) {
  std::string text;
  for (const Span& span : line) text += span.text;
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace anyplace::tool
