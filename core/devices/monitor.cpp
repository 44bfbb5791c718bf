// SPDX-License-Identifier: Apache-2.0
//
// Samples of a device and its processes. Backends tell figures and counters; figures that need two samples are computed
// here, for all backends alike.
#include "anyplace/monitor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "anyplace/memory_stats.h"
#include "plugins/device_properties.h"
#include "runtime/call.h"
#include "runtime/text.h"

namespace anyplace {

using detail::check;
using detail::enter;
using detail::require_usable;

// ---- Throttle reasons ----------------------------------------------------------------------------------------------

#define ANYPLACE_THROTTLE_SAME(upper, lower, bit, text) \
  static_assert(static_cast<std::uint32_t>(ThrottleReason::lower) == (bit));
ANYPLACE_THROTTLE_LIST(ANYPLACE_THROTTLE_SAME)
#undef ANYPLACE_THROTTLE_SAME

const char* to_string(ThrottleReason reason) noexcept {
  switch (reason) {
#define ANYPLACE_THROTTLE_NAME(upper, lower, bit, text) \
  case ThrottleReason::lower:                           \
    return #lower;
    ANYPLACE_THROTTLE_LIST(ANYPLACE_THROTTLE_NAME)
#undef ANYPLACE_THROTTLE_NAME
  }
  return "unknown";
}

namespace {

// ---- One sample ----------------------------------------------------------------------------------------------------

/// Converts a figure to units, each of which has so many `parts`. Dividing instead of multiplying by the inverse gives
/// 0.07 exactly for 70,000 of a million.
std::optional<double> in_units(std::optional<std::uint64_t> figure, double parts) {
  return figure ? std::optional(static_cast<double>(*figure) / parts) : std::nullopt;
}

std::optional<std::vector<ThrottleReason>> reasons_of(std::optional<std::uint64_t> bits) {
  if (!bits) return std::nullopt;
  constexpr std::array all{
#define ANYPLACE_THROTTLE_ITEM(upper, lower, bit, text) ThrottleReason::lower,
      ANYPLACE_THROTTLE_LIST(ANYPLACE_THROTTLE_ITEM)
#undef ANYPLACE_THROTTLE_ITEM
  };
  std::vector<ThrottleReason> reasons;
  for (const ThrottleReason reason : all) {
    if ((*bits >> static_cast<std::uint32_t>(reason) & 1) != 0) reasons.push_back(reason);
  }
  return reasons;
}

/// The figures that the backend told. One that is older than this core has told only those that its struct holds.
class Told {
 public:
  explicit Told(const anyplace_device_sample& from) noexcept : from_(from) {}

#define ANYPLACE_SAMPLE_TOLD(upper, lower, bit, text)                                                             \
  std::optional<std::uint64_t> lower() const noexcept {                                                           \
    constexpr std::size_t end = offsetof(anyplace_device_sample, lower) + sizeof(std::uint64_t);                  \
    return (from_.known >> (bit)&1) != 0 && end <= from_.struct_size ? std::optional(from_.lower) : std::nullopt; \
  }
  ANYPLACE_SAMPLE_LIST(ANYPLACE_SAMPLE_TOLD)
#undef ANYPLACE_SAMPLE_TOLD

 private:
  const anyplace_device_sample& from_;
};

/// The figures of one sample, without those that need two.
DeviceSample converted(const Device& device, const anyplace_device_sample& from) {
  const Told told(from);
  DeviceSample to;
  to.device = device;
  to.steady_time = std::chrono::steady_clock::now();
  to.wall_time = std::chrono::system_clock::now();
  to.compute_utilization = in_units(told.compute_ppm(), 1e6);
  to.memory_utilization = in_units(told.memory_ppm(), 1e6);
  to.memory_used_bytes = told.memory_used_bytes();
  to.memory_total_bytes = told.memory_total_bytes();
  if (const auto millikelvin = told.temperature_millikelvin()) {
    to.temperature_celsius = (static_cast<double>(*millikelvin) - 273150) / 1e3;
  }
  to.power_watts = in_units(told.power_milliwatts(), 1e3);
  to.power_limit_watts = in_units(told.power_limit_milliwatts(), 1e3);
  to.energy_joules = in_units(told.energy_microjoules(), 1e6);
  to.core_clock_hz = told.core_clock_hz();
  to.memory_clock_hz = told.memory_clock_hz();
  to.throttle_reasons = reasons_of(told.throttle());
  to.ecc_corrected = told.ecc_corrected();
  to.ecc_uncorrected = told.ecc_uncorrected();
  to.pcie_rx_bytes = told.pcie_rx_bytes();
  to.pcie_tx_bytes = told.pcie_tx_bytes();
  to.link_rx_bytes = told.link_rx_bytes();
  to.link_tx_bytes = told.link_tx_bytes();
  to.compute_active_ns = told.compute_active_ns();
  to.memory_active_ns = told.memory_active_ns();
  to.active_clock_ns = told.active_clock_ns();
  return to;
}

anyplace_device_sample sample_of(const Device& device, const char* operation) {
  detail::DeviceState& state = *device.state();
  enter(operation);
  require_usable(state, operation);
  detail::require_capability(state, Capability::monitoring, operation);
  anyplace_device_sample taken{};
  taken.struct_size = sizeof(taken);
  check(state.table->device_sample(state.self, state.index, &taken), state, operation);
  taken.struct_size = std::min<std::uint32_t>(taken.struct_size, sizeof(taken));
  return taken;
}

// ---- Two samples ---------------------------------------------------------------------------------------------------

/// How much a counter grew. Empty if one of the values isn't known, or the counter started anew.
std::optional<double> grown(const std::optional<std::uint64_t>& from, const std::optional<std::uint64_t>& to) {
  if (!from || !to || *to < *from) return std::nullopt;
  return static_cast<double>(*to - *from);
}

void add_utilizations(const DeviceSample& since, DeviceSample& now) {
  const std::optional<double> clock = grown(since.active_clock_ns, now.active_clock_ns);
  if (!clock || *clock <= 0) return;
  bool any = false;
  const auto add = [&](const auto& from, const auto& to, std::optional<double>& share) {
    const std::optional<double> active = grown(from, to);
    if (!active || share) return;
    share = std::min(*active / *clock, 1.0);  // the counter and its clock are read one after the other
    any = true;
  };
  add(since.compute_active_ns, now.compute_active_ns, now.compute_utilization);
  add(since.memory_active_ns, now.memory_active_ns, now.memory_utilization);
  if (any) now.utilization_window = std::chrono::nanoseconds(static_cast<std::int64_t>(*clock));
}

void add_rates(const DeviceSample& since, DeviceSample& now) {
  const std::chrono::nanoseconds window = now.steady_time - since.steady_time;
  now.rates_window = window;
  if (window.count() <= 0) return;
  const double seconds = std::chrono::duration<double>(window).count();
  const auto rate = [&](const auto& from, const auto& to) {
    const std::optional<double> difference = grown(from, to);
    return difference ? std::optional(*difference / seconds) : std::nullopt;
  };
  now.pcie_rx_bytes_per_second = rate(since.pcie_rx_bytes, now.pcie_rx_bytes);
  now.pcie_tx_bytes_per_second = rate(since.pcie_tx_bytes, now.pcie_tx_bytes);
  now.link_rx_bytes_per_second = rate(since.link_rx_bytes, now.link_rx_bytes);
  now.link_tx_bytes_per_second = rate(since.link_tx_bytes, now.link_tx_bytes);
  if (!now.power_watts && now.energy_joules && since.energy_joules && *now.energy_joules >= *since.energy_joules) {
    now.power_watts = (*now.energy_joules - *since.energy_joules) / seconds;
  }
}

}  // namespace

DeviceSample sample(const Device& device) { return converted(device, sample_of(device, "sample")); }

DeviceSample sample(const Device& device, const DeviceSample& since) {
  constexpr const char* operation = "sample";
  if (since.device && *since.device != device) {
    detail::fail(ErrorCode::invalid_argument, device.to_string(), operation,
                 fmt::format("the sample to compare with is of {}\npass an earlier one of this device",
                             since.device->to_string()));
  }
  DeviceSample now = converted(device, sample_of(device, operation));
  if (since.steady_time == std::chrono::steady_clock::time_point() || since.steady_time > now.steady_time) {
    detail::fail(ErrorCode::invalid_argument, device.to_string(), operation,
                 since.steady_time > now.steady_time
                     ? "the sample to compare with is later than now\npass an earlier one of this device"
                     : "the sample to compare with was never taken\npass one that sample() returned, or none");
  }
  add_utilizations(since, now);
  add_rates(since, now);
  return now;
}

std::string monitoring_source(const Device& device) {
  const anyplace_device_sample taken = sample_of(device, "monitoring_source");
  return std::string(detail::bounded(taken.source, sizeof(taken.source)));
}

// ---- Processes -----------------------------------------------------------------------------------------------------
namespace {

/// The system's current name of the process: at most 15 bytes of the program's file name, or of another name that the
/// process gave itself. Empty if the process has ended.
std::string short_name(std::uint64_t process) {
  const std::string path = fmt::format("/proc/{}/comm", process);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::array<char, 64> text;
  ssize_t bytes = 0;
  do bytes = read(file, text.data(), text.size());
  while (bytes < 0 && errno == EINTR);
  close(file);
  if (bytes <= 0) return "";
  std::string name(text.data(), static_cast<std::size_t>(bytes));
  if (name.back() == '\n') name.pop_back();
  return detail::one_line(name);
}

/// The processes that the backend tells.
std::vector<anyplace_process> processes_of(detail::DeviceState& state, const char* operation) {
  constexpr std::uint32_t most_processes = 1 << 22;  // the most that Linux has
  std::uint32_t count = 16;
  std::vector<anyplace_process> found;
  do {
    // A backend that knows shorter structs leaves the rest at 0, which means unknown.
    found.assign(count, anyplace_process{});
    check(state.table->list_processes(state.self, state.index, found.data(), sizeof(anyplace_process), &count), state,
          operation);
    if (count > most_processes) {
      detail::fail(ErrorCode::backend_failed, state.place, operation,
                   fmt::format("the backend says that {} processes use the device", count));
    }
    if (count <= found.size()) break;
    count *= 2;  // there are more than there was room for, and may be still more at the next call
  } while (true);
  found.resize(count);
  return found;
}

std::optional<std::uint64_t> memory_of(const anyplace_process& process) {
  return process.memory_bytes == ANYPLACE_UNKNOWN ? std::nullopt : std::optional(process.memory_bytes);
}

DeviceProcess converted(const anyplace_process& from) {
  DeviceProcess to;
  to.id = from.id;
  to.memory_bytes = memory_of(from);
  to.name = short_name(from.id);
  const auto is = [&](std::uint32_t kind) {
    return (from.kinds_known & kind) == 0 ? std::nullopt : std::optional<bool>((from.kinds & kind) != 0);
  };
  to.compute = is(ANYPLACE_PROCESS_COMPUTE);
  to.graphics = is(ANYPLACE_PROCESS_GRAPHICS);
  if (from.compute_known != 0) to.compute_utilization = from.compute_ppm / 1e6;
  return to;
}

}  // namespace

std::vector<DeviceProcess> Device::processes() const {
  constexpr const char* operation = "Device::processes";
  enter(operation);
  require_usable(*state_, operation);
  detail::require_capability(*state_, Capability::list_processes, operation);
  std::vector<DeviceProcess> processes;
  for (const anyplace_process& process : processes_of(*state_, operation)) processes.push_back(converted(process));
  return processes;
}

std::optional<std::vector<MemoryProcess>> list_processes(const Device& device) {
  constexpr const char* operation = "list_processes";
  detail::DeviceState& state = *device.state();
  enter(operation);
  require_usable(state, operation);
  if (!detail::has_capability(state, Capability::list_processes, operation)) return std::nullopt;
  std::vector<MemoryProcess> processes;
  for (const anyplace_process& process : processes_of(state, operation)) {
    processes.push_back({process.id, memory_of(process)});
  }
  return processes;
}

}  // namespace anyplace
