// SPDX-License-Identifier: Apache-2.0
// `anyplace devices`: every device of every backend that can be used, and a line for each backend that can't.
#include <optional>

#include "commands.h"
#include "links.h"
#include "probe.h"
#include "terminal.h"
#include "text.h"

namespace anyplace::tool {
namespace {

std::string cell(const Json& device, const char* key) {
  const Json& value = device.at(key);
  if (value.is_number()) return std::to_string(value.get<std::int64_t>());
  return value.is_string() ? value.get<std::string>() : "unknown";
}

std::optional<std::uint64_t> number_at(const Json& value) {
  return value.is_number() ? std::optional(value.get<std::uint64_t>()) : std::nullopt;
}

/// Used and total memory: "512.0 MiB / 1.0 GiB".
std::string memory_cell(const Json& device) {
  const std::optional<std::uint64_t> used = number_at(device.at("memory").at("used"));
  const std::optional<std::uint64_t> total = number_at(device.at("total_memory"));
  if (!used && !total) return "unknown";
  return bytes_text(used) + " / " + bytes_text(total);
}

std::string with_heading(const std::vector<std::vector<std::string>>& rows) {
  return table(rows, [](std::size_t row, std::size_t column, const std::string& text) {
    if (row == 0) return painted(Paint::heading, text);
    return column == 0 ? painted(Paint::name, text) : text;
  });
}

/// Three tables for a terminal of 80 columns: what each device is, where it is, and how it is linked with the others.
std::string device_tables(const std::vector<Json>& devices) {
  std::vector<std::vector<std::string>> what{{"PLACE", "NAME", "ARCHITECTURE", "MEMORY USED", "DRIVER"}};
  std::vector<std::vector<std::string>> where{{"PLACE", "PCI ADDRESS", "NUMA", "NEAR CPUS", "UUID"}};
  for (const Json& device : devices) {
    what.push_back({cell(device, "place"), cell(device, "name"), cell(device, "architecture"), memory_cell(device),
                    cell(device, "driver_version")});
    where.push_back({cell(device, "place"), cell(device, "pci"), cell(device, "numa_node"), cell(device, "near_cpus"),
                     cell(device, "uuid")});
  }
  const std::string links = link_matrix(devices);
  return with_heading(what) + "\n" + with_heading(where) + (links.empty() ? "" : "\n" + links);
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
  return {device_tables(devices), notes, status};
}

}  // namespace anyplace::tool
