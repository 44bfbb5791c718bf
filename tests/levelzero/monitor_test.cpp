// SPDX-License-Identifier: Apache-2.0
//
// What a device's samples and processes are over the double's Sysman, figure for figure; and without one, behind a
// loader that has no zesInit.
#include <unistd.h>

#include <memory>
#include <vector>

#include "doubles/monitoring/control.hpp"
#include "support.h"

namespace levelzero_monitor_test {

using namespace levelzero_test;
using anyplace::Buffer;
using anyplace::Device;
using anyplace::DeviceProcess;
using anyplace::DeviceSample;
using anyplace::sample;
using anyplace::ThrottleReason;
using anyplace::doubles::MonitorControl;

constexpr int unsupported_feature = 0x78000003, unknown = 0x7ffffffe, not_available = 0x70010001;

/// Whether the case can say anything: says so itself if not.
bool has_sysman() {
  if (!is_behind_loader) return true;
  std::printf("ANYPLACE_TEST_SKIPPED the real loader of this machine may have no zesInit\n");
  return false;
}

TEST_CASE("Without zesInit figures are unknown, and the source says what is missing") {
  if (!is_behind_loader) return;
  const Double levelzero({{"LEVELZERO_DOUBLE_MEMORY", "96M"}});
  const Device device("levelzero:0");
  const DeviceSample now = sample(device);
  CHECK(now.memory_total_bytes == 96u << 20);
  CHECK_FALSE(now.temperature_celsius);
  CHECK_FALSE(now.compute_active_ns);
  CHECK_FALSE(now.memory_used_bytes);
  CHECK_FALSE(anyplace::monitoring_source(device).empty());
  CHECK_FALSE(anyplace::list_processes(device));
}

TEST_CASE("A sample has each of Sysman's figures in the contract's units") {
  if (!has_sysman()) return;
  const Double levelzero({{"LEVELZERO_DOUBLE_MEMORY", "96M"}});
  const MonitorControl sysman(double_library);
  const Device device("levelzero:0");
  const DeviceSample now = sample(device);
  CHECK_FALSE(now.compute_utilization);
  CHECK(now.compute_active_ns == 5000u * 1000);
  CHECK(now.active_clock_ns == 100000u * 1000);
  CHECK(now.memory_used_bytes == 2u << 20);
  CHECK(now.memory_total_bytes == 96u << 20);
  CHECK(now.temperature_celsius == Approx(61));
  CHECK_FALSE(now.power_watts);
  CHECK(now.power_limit_watts == Approx(120));
  CHECK(now.energy_joules == Approx(987.654321));
  CHECK(now.core_clock_hz == 2050000000u);
  CHECK_FALSE(now.memory_clock_hz);
  CHECK(now.throttle_reasons == std::vector{ThrottleReason::temperature});
  CHECK(now.ecc_corrected == 3u);
  CHECK(now.ecc_uncorrected == 1u);
  CHECK(now.pcie_rx_bytes == 7000u);
  CHECK(now.pcie_tx_bytes == 8000u);
  CHECK_FALSE(now.link_rx_bytes);
  CHECK_THAT(anyplace::monitoring_source(device), Catch::StartsWith("Level Zero Sysman, "));
}

TEST_CASE("The utilisation is the engines' share of the time between two samples, and the power the energy's") {
  if (!has_sysman()) return;
  const Double levelzero;
  const MonitorControl sysman(double_library);
  const Device device("levelzero:0");
  const DeviceSample first = sample(device);
  sysman.set(0, "active", 5000 + 250);
  sysman.set(0, "clock", 100000 + 1000);
  sysman.set(0, "power_uj", 987654321 + 40000000);
  const DeviceSample second = sample(device, first);
  CHECK(second.compute_utilization == Approx(0.25));
  CHECK(second.utilization_window == std::chrono::milliseconds(1));
  const double seconds = std::chrono::duration<double>(second.rates_window.value()).count();
  CHECK(second.power_watts.value() == Approx(40 / seconds));
  // A counter that began anew, and a clock that stood, tell nothing.
  sysman.set(0, "active", 1);
  CHECK_FALSE(sample(device, second).compute_utilization);
}

TEST_CASE("A device of Sysman's other order is the same by its uuid, or else by its PCI address") {
  if (!has_sysman()) return;
  const Double levelzero;
  const MonitorControl sysman(double_library);
  sysman.set(0, "temperature", 40);
  sysman.set(1, "temperature", 41);
  sysman.set(1, "hides_uuid", 1);
  CHECK(sample(Device("levelzero:0")).temperature_celsius == Approx(40));
  CHECK(sample(Device("levelzero:1")).temperature_celsius == Approx(41));
}

TEST_CASE("A device that vanished between two samples is lost, and the other one goes on") {
  if (!has_sysman()) return;
  const Double levelzero;
  const MonitorControl sysman(double_library);
  const Device device("levelzero:0"), other("levelzero:1");
  static_cast<void>(sample(device));
  sysman.set(0, "lost", 1);
  const anyplace::Error error = test::required_error(ErrorCode::device_lost, [&] { sample(device); });
  CHECK(error.vendor_code() == device_lost);
  CHECK_THAT(error.what(), Contains("levelzero:0"));
  CHECK(sample(other).temperature_celsius == Approx(61));
}

TEST_CASE("Any call of Sysman's that fails leaves unknown what it tells and takes nothing else away") {
  if (!has_sysman()) return;
  const Double levelzero;
  const MonitorControl sysman(double_library);
  const Device device("levelzero:0");
  const auto known = [&] {
    const DeviceSample from = sample(device);
    return from.compute_active_ns.has_value() + from.memory_used_bytes.has_value() +
           from.temperature_celsius.has_value() + from.power_limit_watts.has_value() + from.energy_joules.has_value() +
           from.core_clock_hz.has_value() + from.throttle_reasons.has_value() + from.ecc_corrected.has_value() +
           from.pcie_rx_bytes.has_value();
  };
  REQUIRE(known() == 9);
  for (std::uint64_t i = 0; sysman.entry(i) != nullptr; ++i) {
    const std::string entry = sysman.entry(i);
    INFO(entry);
    for (const int code : {unsupported_feature, unknown, not_available, 0x70000002 /* out of host memory */}) {
      sysman.fail(entry.c_str(), code);
      const int left = known();
      CHECK(left >= 7);
      // Those before it, and those for processes, have done their part.
      const bool is_told = entry.find("Init") == std::string::npos && entry.find("DriverGet") == std::string::npos &&
                           entry.find("zesDeviceGet") == std::string::npos && entry != "zesDevicePciGetProperties" &&
                           entry != "zesDeviceProcessesGetState";
      CHECK((left < 9) == is_told);
      sysman.clear_failures();
    }
  }
  CHECK(known() == 9);
  sysman.fail("zesTemperatureGetState", unknown);
  CHECK_THAT(anyplace::monitoring_source(device), Contains("zesTemperatureGetState gives ZE_RESULT_ERROR_UNKNOWN"));
}

TEST_CASE("A Sysman that doesn't begin is no error, and the source says what to do") {
  if (!has_sysman()) return;
  const Double levelzero({{"LEVELZERO_DOUBLE_MEMORY", "96M"}});
  const MonitorControl sysman(double_library);
  sysman.fail("zesInit", 0x78000001);
  const Device device("levelzero:0");
  const DeviceSample now = sample(device);
  CHECK_FALSE(now.temperature_celsius);
  CHECK(now.memory_total_bytes == 96u << 20);
  CHECK_THAT(anyplace::monitoring_source(device), Contains("zesInit gives ZE_RESULT_ERROR_UNINITIALIZED"));
  CHECK(test::code_of([&] { device.processes(); }) == ErrorCode::unsupported);
}

TEST_CASE(
    "The processes of a device have their memory, name and kind, or are unknown where the driver hides this one") {
  if (!has_sysman()) return;
  const Double levelzero;
  const MonitorControl sysman(double_library);
  const Device device("levelzero:0");
  const Buffer buffer(device, 3 << 20);
  sysman.set(0, "other_process", static_cast<std::uint64_t>(getppid()));
  const std::vector<DeviceProcess> processes = device.processes();
  REQUIRE(processes.size() == 2);
  const bool first = processes[0].id == static_cast<std::uint64_t>(getpid());
  const DeviceProcess& own = processes[first ? 0 : 1];
  const DeviceProcess& other = processes[first ? 1 : 0];
  CHECK(own.memory_bytes >= 3u << 20);
  CHECK(own.name.find("test_levelzero") == 0);
  CHECK(own.compute == true);
  CHECK_FALSE(own.graphics);
  CHECK(other.graphics == true);
  CHECK(other.memory_bytes == 4096u);
  sysman.set(0, "hides_us", 1);
  CHECK(test::code_of([&] { device.processes(); }) == ErrorCode::unsupported);
  sysman.fail("zesDeviceProcessesGetState", unknown);
  CHECK(test::code_of([&] { device.processes(); }) == ErrorCode::unsupported);
}

}  // namespace levelzero_monitor_test
