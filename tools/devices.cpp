// SPDX-License-Identifier: Apache-2.0
// `anyplace devices`: every device of every backend that can be used, and a line for each backend that can't.
#include "commands.h"
#include "probe.h"
#include "terminal.h"
#include "text.h"

namespace anyplace::tool {
namespace {

std::string cell(const Json& device, const char* key) {
  const Json& value = device.at(key);
  return value.is_string() ? value.get<std::string>() : "-";
}

std::string memory_cell(const Json& device) {
  const Json& value = device.at("total_memory");
  return value.is_null() ? "unknown" : bytes_text(value.get<std::uint64_t>());
}

std::string device_table(const std::vector<Json>& devices) {
  std::vector<std::vector<std::string>> rows{{"PLACE", "NAME", "VENDOR", "ARCHITECTURE", "MEMORY"}};
  for (const Json& device : devices) {
    rows.push_back({cell(device, "place"), cell(device, "name"), cell(device, "vendor"), cell(device, "architecture"),
                    memory_cell(device)});
  }
  return table(rows, [](std::size_t row, std::size_t column, const std::string& text) {
    if (row == 0) return painted(Paint::heading, text);
    return column == 0 ? painted(Paint::name, text) : text;
  });
}

std::string note(const std::string& backend, const Problem& problem) {
  const std::string& subject = problem.place.empty() ? backend : problem.place;
  return painted_note(Paint::doubtful, printable(subject)) + printable(": " + in_brief(problem)) + "\n";
}

}  // namespace

Answer run_devices(const Options& options) {
  std::vector<Json> devices;
  Json problems = Json::array();
  std::string notes;
  for (const std::string& name : backend_names()) {
    Probe probe = probe_backend(name, options.probe_timeout);
    if (probe.complete && probe.devices.empty() && probe.problems.empty()) {
      probe.problems.push_back({"", to_string(ErrorCode::no_such_device), "the plugin works but finds no device"});
    }
    devices.insert(devices.end(), probe.devices.begin(), probe.devices.end());
    for (const Problem& problem : probe.problems) {
      problems.push_back(problem_json(name, problem));
      notes += note(name, problem);
    }
  }

  const int status = devices.empty() ? exit_failed : exit_ok;
  if (options.json) return {dump(Json{{"devices", devices}, {"problems", problems}}), "", status};
  if (devices.empty())
    return {"", notes + "no device of any backend\n`anyplace doctor` says why, and what to do about it\n", status};
  if (!notes.empty()) notes += "`anyplace doctor` says why, and what to do about it\n";
  return {device_table(devices), notes, status};
}

}  // namespace anyplace::tool
