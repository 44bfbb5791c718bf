// SPDX-License-Identifier: Apache-2.0
//
// What a device's samples and processes are over the double of ROCm SMI, figure for figure.
#include <unistd.h>

#include <optional>
#include <vector>

#include "cuda_and_hip/support.h"
#include "doubles/monitoring/control.hpp"

namespace hip_monitor_test {

using namespace vendor_test;
using anyplace::DeviceProcess;
using anyplace::DeviceSample;
using anyplace::sample;
using anyplace::doubles::MonitorControl;

constexpr const char* rocm_smi_name = "librocm_smi64.so.7";
constexpr int not_supported = 2, internal_exception = 6;

TEST_CASE("A sample has each of ROCm SMI's figures in the contract's units") {
  const Double hip({{"HIP_DOUBLE_MEMORY", "96M"}});
  const MonitorControl rocm_smi(rocm_smi_name);
  const Device device("hip:0");
  const DeviceSample now = sample(device);
  CHECK(now.compute_utilization == Approx(0.44));
  CHECK(now.memory_utilization == Approx(0.07));
  CHECK(now.memory_used_bytes == 1u << 20);
  CHECK(now.memory_total_bytes == 96u << 20);
  CHECK(now.temperature_celsius == Approx(71.25));
  CHECK(now.power_watts == Approx(98.765));
  CHECK(now.power_limit_watts == Approx(500));
  CHECK(now.energy_joules == Approx(15.25));
  CHECK(now.core_clock_hz == 1700000000u);
  CHECK(now.memory_clock_hz == 1600000000u);
  CHECK_FALSE(now.throttle_reasons);
  CHECK(now.ecc_corrected == 5u);
  CHECK(now.ecc_uncorrected == 1u);
  CHECK_FALSE(now.pcie_rx_bytes);
  CHECK_FALSE(now.link_rx_bytes);
  CHECK_THAT(anyplace::monitoring_source(device), Catch::StartsWith("ROCm SMI, ") && contains(rocm_smi_name));
}

TEST_CASE("Clocks are read in each form that rsmi_frequencies_t has had") {
  const Double hip;
  const MonitorControl rocm_smi(rocm_smi_name);
  const Device device("hip:0");
  for (const std::uint64_t form : {0, 1, 2}) {
    rocm_smi.set(0, "form", form);
    CHECK(sample(device).core_clock_hz == 1700000000u);
    CHECK(sample(device).memory_clock_hz == 1600000000u);
  }
  rocm_smi.set(0, "clock", 0);
  CHECK_FALSE(sample(device).core_clock_hz);
}

TEST_CASE("A device without the sensor at its hottest point tells the edge's") {
  const Double hip;
  const MonitorControl rocm_smi(rocm_smi_name);
  rocm_smi.set(0, "junction", 0);
  CHECK(sample(Device("hip:0")).temperature_celsius == Approx(48.5));
}

TEST_CASE("A device is the same in ROCm SMI whatever HIP_VISIBLE_DEVICES makes of its index") {
  const Double hip({{"HIP_VISIBLE_DEVICES", "1,0"}, {"ROCM_SMI_DOUBLE_FIGURES", "0.junction=40000,1.junction=41000"}});
  CHECK(sample(Device("hip:0")).temperature_celsius == Approx(41));
  CHECK(sample(Device("hip:1")).temperature_celsius == Approx(40));
}

TEST_CASE("Any call of ROCm SMI's that fails leaves unknown what it tells and takes nothing else away") {
  const Double hip;
  const MonitorControl rocm_smi(rocm_smi_name);
  const Device device("hip:0");
  const Buffer buffer(device, 1 << 20);
  const auto known = [&] {
    const DeviceSample from = sample(device);
    return from.compute_utilization.has_value() + from.memory_utilization.has_value() +
           from.temperature_celsius.has_value() + from.power_watts.has_value() + from.power_limit_watts.has_value() +
           from.energy_joules.has_value() + from.core_clock_hz.has_value() + from.ecc_corrected.has_value() +
           from.memory_used_bytes.has_value();
  };
  REQUIRE(known() == 9);
  for (std::uint64_t i = 0; rocm_smi.entry(i) != nullptr; ++i) {
    const std::string entry = rocm_smi.entry(i);
    INFO(entry);
    for (const int code : {1, not_supported, 3, 4, internal_exception, 16}) {
      rocm_smi.fail(entry.c_str(), code);
      const int left = known();
      CHECK(left >= 8);
      // The memory in use is known to the runtime, too.
      const bool is_told = entry.find("rsmi_dev_") == 0 && entry != "rsmi_dev_pci_id_get" &&
                           entry.find("memory_total") == std::string::npos &&
                           entry.find("memory_usage") == std::string::npos;
      CHECK((left < 9) == is_told);
      rocm_smi.clear_failures();
    }
  }
  rocm_smi.fail("rsmi_dev_power_ave_get", internal_exception);
  CHECK_THAT(anyplace::monitoring_source(device), contains("rsmi_dev_power_ave_get gives 6"));
}

TEST_CASE("A ROCm SMI that doesn't begin is no error, and the source says what to do") {
  const Double hip({{"HIP_DOUBLE_MEMORY", "96M"}});
  const MonitorControl rocm_smi(rocm_smi_name);
  rocm_smi.fail("rsmi_init", 8);
  const Device device("hip:0");
  const DeviceSample now = sample(device);
  CHECK_FALSE(now.temperature_celsius);
  CHECK(now.memory_total_bytes == 96u << 20);
  CHECK_THAT(anyplace::monitoring_source(device), contains("rsmi_init gives 8") && contains("/sys/class/drm"));
  CHECK_FALSE(anyplace::list_processes(device));
}

TEST_CASE("A device that ROCm SMI doesn't know has unknown figures, and the other one has its own") {
  const Double hip;
  const MonitorControl rocm_smi(rocm_smi_name);
  REQUIRE(rocm_smi.fail_nth("rsmi_dev_pci_id_get", 1, not_supported));  // of its first, HIP's last
  CHECK_FALSE(sample(Device("hip:1")).temperature_celsius);
  CHECK_THAT(anyplace::monitoring_source(Device("hip:1")), contains("knows no device at 0000:44:00.0"));
  CHECK(sample(Device("hip:0")).temperature_celsius == Approx(71.25));
}

TEST_CASE("A lost device has no sample, and the other one goes on") {
  const Double hip;
  const MonitorControl rocm_smi(rocm_smi_name);
  const Device device("hip:0"), other("hip:1");
  const Stream stream(device);
  REQUIRE(hip.fail_device(0, 719));
  CHECK(test::code_of([&] { stream.synchronize(); }) == ErrorCode::device_lost);
  CHECK(test::code_of([&] { sample(device); }) == ErrorCode::device_lost);
  CHECK(test::code_of([&] { device.processes(); }) == ErrorCode::device_lost);
  CHECK(sample(other).temperature_celsius == Approx(71.25));
}

TEST_CASE("The processes of a device have their memory there and a name, or are unknown where this one is hidden") {
  const Double hip;
  const MonitorControl rocm_smi(rocm_smi_name);
  const Device device("hip:0"), other("hip:1");
  const Buffer buffer(device, 3 << 20);
  rocm_smi.set(0, "other_process", static_cast<std::uint64_t>(getppid()));
  const std::vector<DeviceProcess> processes = device.processes();
  REQUIRE(processes.size() == 2);
  CHECK(processes[0].id == static_cast<std::uint64_t>(getpid()));
  CHECK(processes[0].memory_bytes >= 3u << 20);
  CHECK(processes[0].name == "test_hip");
  CHECK(processes[0].compute == true);
  CHECK_FALSE(processes[0].graphics);
  CHECK(processes[1].memory_bytes == 4096u);
  // The runtime may have this process on every device; the other one uses one.
  for (const DeviceProcess& process : other.processes()) {
    CHECK(process.id == static_cast<std::uint64_t>(getpid()));
  }
  rocm_smi.fail("rsmi_compute_process_info_by_device_get", not_supported);
  CHECK_FALSE(device.processes().front().memory_bytes);
  rocm_smi.clear_failures();
  rocm_smi.set(0, "hides_us", 1);
  const anyplace::Error error = test::required_error(ErrorCode::unsupported, [&] { device.processes(); });
  CHECK_THAT(error.what(), contains("PID namespace"));
  rocm_smi.fail("rsmi_compute_process_info_get", 3);
  CHECK(test::code_of([&] { device.processes(); }) == ErrorCode::unsupported);
}

}  // namespace hip_monitor_test
