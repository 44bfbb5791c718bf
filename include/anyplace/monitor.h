// SPDX-License-Identifier: Apache-2.0
//
// Monitoring: how busy, full and hot a device is, whoever uses it. One table for every vendor.
//
//   anyplace::Monitor monitor(device);
//   for (;;) {
//     wait_a_second();
//     const anyplace::DeviceSample now = monitor.sample();
//     if (now.compute_utilization) print(*now.compute_utilization * 100, "%");
//     if (now.power_watts) print(*now.power_watts, "W");
//   }
//
// The figures are the whole device's, of all processes, as the vendor's management library tells them (NVML, ROCm SMI,
// Sysman); cpu_sim tells its own. A figure that it can't tell is empty (std::nullopt), never 0. The processes are told
// by Device::processes() and, as torch has it, list_processes(). memory_stats.h has the figures of this process's
// allocator. docs/monitoring.md has a table of which vendor tells what, and of torch's names for it.
//
// Any thread may call every function here; one Monitor is for one thread at a time. All throw device_lost, forked,
// shut_down, and not_permitted inside a host function or kernel, and unsupported where the device lacks
// Capability::monitoring. A sample makes no vendor context, waits for no work and takes no part in it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device.h"
#include "export.h"

namespace anyplace {

/// Why a device runs slower than it could, or doesn't run. Several may hold at once.
enum class ThrottleReason : std::uint32_t {
  idle = 0,                 ///< there is nothing to do
  power = 1,                ///< the power limit is reached
  temperature = 2,          ///< it is too hot
  current = 3,              ///< the electrical current's limit, or a brake that the power supply put on
  hardware = 4,             ///< the hardware protects itself, and the vendor doesn't say which part of it
  software = 5,             ///< an application or administrator set the clocks
  synchronized_clocks = 6,  ///< it keeps step with a slower device
  other = 7,                ///< a reason that the vendor has no public name for
};
/// "idle", "power" and so on. Never null, never throws.
ANYPLACE_API const char* to_string(ThrottleReason reason) noexcept;

/// A device at one moment. A member is empty where the vendor can't tell or, where its comment says so, without an
/// earlier sample.
struct DeviceSample {
  std::chrono::steady_clock::time_point steady_time;  ///< when the vendor had answered, for differences
  std::chrono::system_clock::time_point wall_time;    ///< the same moment, for people

  /// 0 to 1: the share of a span of time in which the device had something to compute, and in which its memory was read
  /// or written. The span is utilization_window if that is set; else the vendor chooses one that ends about now, which
  /// is at most a second on NVIDIA's devices.
  std::optional<double> compute_utilization;
  /// The share of time in which the memory was read or written, as above.
  std::optional<double> memory_utilization;
  /// The time from the earlier sample to this one, for vendors that derive the two utilisations from counters. Without
  /// an earlier sample those utilisations are empty.
  std::optional<std::chrono::nanoseconds> utilization_window;

  std::optional<std::uint64_t> memory_used_bytes;  ///< used by all processes and the driver; at most the total
  std::optional<std::uint64_t>
      memory_total_bytes;  ///< the device's memory, perhaps without what the vendor keeps for itself
  /// The temperature of the compute units, or the hottest point that the vendor tells.
  std::optional<double> temperature_celsius;
  std::optional<double> power_watts;        ///< what the vendor tells, or else the energy over rates_window
  std::optional<double> power_limit_watts;  ///< the limit in force
  /// Since a moment that the driver chooses; it never falls while the driver is loaded.
  std::optional<double> energy_joules;
  std::optional<std::uint64_t> core_clock_hz;    ///< the current clock of the compute units
  std::optional<std::uint64_t> memory_clock_hz;  ///< the memory's current clock
  /// In the order of their numbers. A list without elements says that there is no reason; no list, that the vendor
  /// can't tell.
  std::optional<std::vector<ThrottleReason>> throttle_reasons;
  /// Errors of memory since the driver was loaded, or as the vendor counts.
  std::optional<std::uint64_t> ecc_corrected;
  /// The errors of memory that could not be put right, counted likewise.
  std::optional<std::uint64_t> ecc_uncorrected;

  /// Bytes that the device received (rx) and sent (tx) over PCIe, and over its links to other devices (NVLink, XGMI, Xe
  /// Link), each since a moment of its own.
  std::optional<std::uint64_t> pcie_rx_bytes;
  std::optional<std::uint64_t> pcie_tx_bytes;  ///< sent over PCIe
  std::optional<std::uint64_t> link_rx_bytes;  ///< received over links to other devices
  std::optional<std::uint64_t> link_tx_bytes;  ///< sent over links to other devices
  /// Bytes per second, over rates_window. Empty without an earlier sample, and where a counter started anew since.
  std::optional<double> pcie_rx_bytes_per_second;
  std::optional<double> pcie_tx_bytes_per_second;  ///< sent over PCIe
  std::optional<double> link_rx_bytes_per_second;  ///< received over links to other devices
  std::optional<double> link_tx_bytes_per_second;  ///< sent over links to other devices
  /// The time from the earlier sample to this one; empty without an earlier sample.
  std::optional<std::chrono::nanoseconds> rates_window;

  /// Nanoseconds in which the device had something to compute, and in which its memory was in use, and the vendor's
  /// clock when they were read, where the vendor has such counters. The next sample's utilisation is computed from
  /// them.
  std::optional<std::uint64_t> compute_active_ns;
  std::optional<std::uint64_t> memory_active_ns;  ///< the time in which the memory was in use
  std::optional<std::uint64_t> active_clock_ns;   ///< the vendor's clock when the two were read

  std::optional<Device> device;  ///< whose sample it is
};

/// The device now, without an earlier sample: figures that need two are empty.
ANYPLACE_API DeviceSample sample(const Device& device);
/// The device now. Figures that need two samples cover the time from `since`, an earlier sample of the same device.
/// Throws invalid_argument for a later one, one that was never taken, and another device's.
ANYPLACE_API DeviceSample sample(const Device& device, const DeviceSample& since);

/// Samples a device again and again, each time since the sample before. The first sample covers the time since the
/// Monitor was made.
class Monitor {
 public:
  /// Takes the first sample, since which the next one counts.
  explicit Monitor(const Device& device) : device_(device), last_(anyplace::sample(device)) {}

  /// The device now; figures that need two samples cover the time since the one before.
  DeviceSample sample() { return last_ = anyplace::sample(device_, last_); }
  /// The device that is sampled.
  const Device& device() const noexcept { return device_; }
  /// The last result of sample(); before the first, the sample that the Monitor began with.
  const DeviceSample& last() const noexcept { return last_; }

 private:
  Device device_;
  DeviceSample last_;
};

/// Where a device's figures come from, for `anyplace doctor` and for people who wonder why a field is empty. It has a
/// line for each fact ("NVML 12.550.54, libnvidia-ml.so.1"), or says what is missing and which package has it. Empty
/// where the vendor's library is the driver itself and there is nothing to say.
ANYPLACE_API std::string monitoring_source(const Device& device);

}  // namespace anyplace
