// SPDX-License-Identifier: Apache-2.0
#include "top_output.h"

#include <fmt/format.h>

#include <ctime>
#include <utility>

namespace anyplace::tool {
namespace {

template <class T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json seconds_or_null(const std::optional<std::chrono::nanoseconds>& time) {
  return time ? Json(std::chrono::duration<double>(*time).count()) : Json();
}

Json throttle_json(const DeviceSample& sample) {
  if (!sample.throttle_reasons) return nullptr;
  Json names = Json::array();
  for (const ThrottleReason reason : *sample.throttle_reasons) names.push_back(to_string(reason));
  return names;
}

/// The figures of a sample, by name; all are null where there is no sample.
Json figures_json(const TopDevice& device) {
  const DeviceSample now = device.sample.value_or(DeviceSample{});
  return Json{
      {"compute_utilization", value_or_null(now.compute_utilization)},
      {"memory_utilization", value_or_null(now.memory_utilization)},
      {"utilization_window_seconds", seconds_or_null(now.utilization_window)},
      {"memory_used_bytes", value_or_null(now.memory_used_bytes)},
      {"memory_total_bytes", value_or_null(now.memory_total_bytes)},
      {"temperature_celsius", value_or_null(now.temperature_celsius)},
      {"power_watts", value_or_null(now.power_watts)},
      {"power_limit_watts", value_or_null(now.power_limit_watts)},
      {"energy_joules", value_or_null(now.energy_joules)},
      {"core_clock_hz", value_or_null(now.core_clock_hz)},
      {"memory_clock_hz", value_or_null(now.memory_clock_hz)},
      {"ecc_corrected", value_or_null(now.ecc_corrected)},
      {"ecc_uncorrected", value_or_null(now.ecc_uncorrected)},
      {"pcie_rx_bytes_per_second", value_or_null(now.pcie_rx_bytes_per_second)},
      {"pcie_tx_bytes_per_second", value_or_null(now.pcie_tx_bytes_per_second)},
      {"link_rx_bytes_per_second", value_or_null(now.link_rx_bytes_per_second)},
      {"link_tx_bytes_per_second", value_or_null(now.link_tx_bytes_per_second)},
      {"rates_window_seconds", seconds_or_null(now.rates_window)},
  };
}

Json processes_json(const TopDevice& device) {
  if (!device.processes) return nullptr;
  Json processes = Json::array();
  for (const DeviceProcess& process : *device.processes) {
    processes.push_back(Json{{"pid", process.id},
                             {"name", text_or_null(process.name)},
                             {"memory_bytes", value_or_null(process.memory_bytes)},
                             {"compute", bool_or_null(process.compute)},
                             {"graphics", bool_or_null(process.graphics)},
                             {"compute_utilization", value_or_null(process.compute_utilization)}});
  }
  return processes;
}

Json device_object(const TopDevice& device) {
  Json object{{"place", device.place}, {"name", text_or_null(device.name)}, {"problem", text_or_null(device.problem)}};
  object.update(figures_json(device));
  object["throttle_reasons"] = throttle_json(device.sample.value_or(DeviceSample{}));
  object["processes"] = processes_json(device);
  return object;
}

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

std::string csv_cell(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? csv_text(value.get<std::string>()) : value.dump();
}

}  // namespace

std::string utc_text(std::chrono::system_clock::time_point time) {
  const auto since = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  const std::time_t whole = static_cast<std::time_t>(seconds.count());
  std::tm parts{};
  if (gmtime_r(&whole, &parts) == nullptr) return "";
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, (since - seconds).count());
}

std::string top_json(const TopSnapshot& snapshot) {
  Json devices = Json::array();
  for (const TopDevice& device : snapshot.devices) devices.push_back(device_object(device));
  return dump_line(Json{{"time", utc_text(snapshot.time)}, {"devices", std::move(devices)}});
}

std::string top_csv_heading() {
  std::string heading = "time,place,name,problem";
  const Json figures = figures_json({});  // kept, because items() refers to it
  for (const auto& [name, value] : figures.items()) heading += "," + name;
  return heading + "\n";
}

std::string top_csv(const TopSnapshot& snapshot) {
  std::string lines;
  for (const TopDevice& device : snapshot.devices) {
    lines += utc_text(snapshot.time) + "," + csv_text(device.place) + "," + csv_text(device.name) + "," +
             csv_text(device.problem);
    const Json figures = figures_json(device);
    for (const auto& [name, value] : figures.items()) lines += "," + csv_cell(value);
    lines += "\n";
  }
  return lines;
}

}  // namespace anyplace::tool
