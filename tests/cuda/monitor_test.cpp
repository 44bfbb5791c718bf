// SPDX-License-Identifier: Apache-2.0
//
// What a device's samples and processes are over the double of NVML, figure for figure.
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "cuda_and_hip/support.h"
#include "doubles/monitoring/control.hpp"
#include "support/environment.h"
#include "support/process.h"

namespace monitor_test {

using namespace vendor_test;
using anyplace::Capability;
using anyplace::DeviceProcess;
using anyplace::DeviceSample;
using anyplace::sample;
using anyplace::ThrottleReason;
using anyplace::doubles::MonitorControl;

constexpr const char* nvml_name = "libnvidia-ml.so.1";
constexpr int not_supported = 3, gpu_is_lost = 15, unknown_error = 999;

TEST_CASE("A sample has each of NVML's figures in the contract's units") {
  const Double cuda({{"CUDA_DOUBLE_MEMORY", "96M"}});
  const MonitorControl nvml(nvml_name);
  const Device device("cuda:0");
  const DeviceSample now = sample(device);
  CHECK(now.compute_utilization == Approx(0.37));
  CHECK(now.memory_utilization == Approx(0.12));
  CHECK_FALSE(now.utilization_window);
  CHECK(now.memory_used_bytes == 1u << 20);
  CHECK(now.memory_total_bytes == 96u << 20);
  CHECK(now.temperature_celsius == Approx(54));
  CHECK(now.power_watts == Approx(65.123));
  CHECK(now.power_limit_watts == Approx(300));
  CHECK(now.energy_joules == Approx(123456.789));
  CHECK(now.core_clock_hz == 1410000000u);
  CHECK(now.memory_clock_hz == 2619000000u);
  CHECK(now.throttle_reasons == std::vector{ThrottleReason::power});
  CHECK(now.ecc_corrected == 2u);
  CHECK(now.ecc_uncorrected == 0u);
  CHECK(now.pcie_rx_bytes == 2000u);
  CHECK(now.pcie_tx_bytes == 1000u);
  CHECK(now.link_rx_bytes == 20u * 1024);
  CHECK(now.link_tx_bytes == 10u * 1024);
  CHECK_FALSE(now.pcie_rx_bytes_per_second);
  CHECK_THAT(anyplace::monitoring_source(device), Catch::StartsWith("NVML 12.999.1, ") && contains(nvml_name));
  // No sample has made a context.
  CHECK(cuda.live("context") == 0);
}

TEST_CASE("Rates are of the time between two samples, and of no counter that began anew") {
  const Double cuda;
  const MonitorControl nvml(nvml_name);
  const Device device("cuda:0");
  const DeviceSample first = sample(device);
  nvml.set(0, "pcie_rx", 2000 + 5000);
  nvml.set(0, "pcie_tx", 10);
  const DeviceSample second = sample(device, first);
  REQUIRE(second.rates_window);
  const double seconds = std::chrono::duration<double>(*second.rates_window).count();
  CHECK(second.pcie_rx_bytes_per_second.value() == Approx(5000 / seconds));
  CHECK(second.link_rx_bytes_per_second == Approx(0));
  CHECK_FALSE(second.pcie_tx_bytes_per_second);
  CHECK(second.compute_utilization == Approx(0.37));
}

TEST_CASE("A device is the same in NVML whatever CUDA_VISIBLE_DEVICES makes of its index") {
  const Double cuda({{"CUDA_VISIBLE_DEVICES", "1,0"}, {"NVML_DOUBLE_FIGURES", "0.temperature=40,1.temperature=41"}});
  CHECK(sample(Device("cuda:0")).temperature_celsius == Approx(41));
  CHECK(sample(Device("cuda:1")).temperature_celsius == Approx(40));
}

TEST_CASE("A device that NVML knows no uuid of is found by its PCI address") {
  const Double cuda({{"CUDA_VISIBLE_DEVICES", "1,0"}, {"NVML_DOUBLE_FIGURES", "1.temperature=41"}});
  const MonitorControl nvml(nvml_name);
  REQUIRE(nvml.fail("nvmlDeviceGetHandleByUUID", 6));
  CHECK(sample(Device("cuda:0")).temperature_celsius == Approx(41));
}

TEST_CASE("A MIG instance that NVML knows no uuid of isn't taken for its GPU") {
  const Double cuda({{"CUDA_DOUBLE_MIG", "1"}});
  const MonitorControl nvml(nvml_name);
  REQUIRE(nvml.fail("nvmlDeviceGetHandleByUUID", 6));
  const Device device("cuda:1");
  CHECK_FALSE(sample(device).temperature_celsius);
  CHECK(sample(device).memory_total_bytes.has_value());
  CHECK_THAT(anyplace::monitoring_source(device), contains("knows no device MIG-"));
}

TEST_CASE("A MIG instance has its own figures") {
  const Double cuda({{"CUDA_DOUBLE_MIG", "1"}, {"NVML_DOUBLE_FIGURES", "0.temperature=40,1.temperature=41"}});
  CHECK(sample(Device("cuda:1")).temperature_celsius == Approx(41));
}

TEST_CASE("What a device doesn't support is unknown and all else is told") {
  const Double cuda;
  const MonitorControl nvml(nvml_name);
  REQUIRE(nvml.fail("nvmlDeviceGetPowerUsage", not_supported));
  REQUIRE(nvml.fail("nvmlDeviceGetTotalEccErrors", not_supported));
  nvml.set(0, "no_links", 1);
  nvml.set(0, "sm", 0);
  nvml.set(0, "reasons", 0);
  const DeviceSample now = sample(Device("cuda:0"));
  CHECK_FALSE(now.power_watts);
  CHECK_FALSE(now.ecc_corrected);
  CHECK_FALSE(now.link_rx_bytes);
  CHECK_FALSE(now.core_clock_hz);
  CHECK(now.throttle_reasons == std::vector<ThrottleReason>{});
  CHECK(now.temperature_celsius == Approx(54));
  CHECK(now.pcie_rx_bytes == 2000u);
}

TEST_CASE("Power that NVML doesn't tell comes of the energy between two samples") {
  const Double cuda;
  const MonitorControl nvml(nvml_name);
  REQUIRE(nvml.fail("nvmlDeviceGetPowerUsage", not_supported));
  const Device device("cuda:0");
  const DeviceSample first = sample(device);
  nvml.set(0, "energy", 123456789 + 50000);
  const DeviceSample second = sample(device, first);
  const double seconds = std::chrono::duration<double>(second.rates_window.value()).count();
  CHECK(second.power_watts.value() == Approx(50 / seconds));
}

TEST_CASE("Each reason of NVML's has one of the contract's") {
  const Double cuda;
  const MonitorControl nvml(nvml_name);
  const Device device("cuda:0");
  const auto reasons = [&](std::uint64_t bits) {
    nvml.set(0, "reasons", bits);
    return sample(device).throttle_reasons.value();
  };
  CHECK(reasons(0x1) == std::vector{ThrottleReason::idle});
  CHECK(reasons(0x2) == std::vector{ThrottleReason::software});
  CHECK(reasons(0x8) == std::vector{ThrottleReason::hardware});
  CHECK(reasons(0x10) == std::vector{ThrottleReason::synchronized_clocks});
  CHECK(reasons(0x20) == std::vector{ThrottleReason::temperature});
  CHECK(reasons(0x80) == std::vector{ThrottleReason::current});
  CHECK(reasons(0x1000) == std::vector{ThrottleReason::other});
  CHECK(reasons(0x40 | 0x4) == std::vector{ThrottleReason::power, ThrottleReason::temperature});
}

TEST_CASE("A device that vanished between two samples is lost, and the other one goes on") {
  const Double cuda;
  const MonitorControl nvml(nvml_name);
  const Device device("cuda:0"), other("cuda:1");
  const Stream stream(device);
  const DeviceSample first = sample(device);
  nvml.set(0, "lost", 1);
  const anyplace::Error error = test::required_error(ErrorCode::device_lost, [&] { sample(device, first); });
  CHECK_THAT(error.what(), contains("fallen off the bus") && contains("cuda:0"));
  CHECK(error.vendor_code() == gpu_is_lost);
  CHECK(test::code_of([&] { stream.synchronize(); }) == ErrorCode::device_lost);
  CHECK(sample(other).temperature_celsius == Approx(54));
  const Stream works(other);
  works.synchronize();
}

TEST_CASE("Any call of NVML's that fails leaves unknown what it tells and takes nothing else away") {
  const Double cuda;
  const MonitorControl nvml(nvml_name);
  const Device device("cuda:0");
  const DeviceSample whole = sample(device);
  const auto known = [](const DeviceSample& from) {
    return from.compute_utilization.has_value() + from.memory_used_bytes.has_value() +
           from.temperature_celsius.has_value() + from.power_watts.has_value() + from.power_limit_watts.has_value() +
           from.energy_joules.has_value() + from.core_clock_hz.has_value() + from.memory_clock_hz.has_value() +
           from.throttle_reasons.has_value() + from.ecc_corrected.has_value() + from.ecc_uncorrected.has_value() +
           from.pcie_rx_bytes.has_value();
  };
  REQUIRE(known(whole) == 12);
  for (std::uint64_t i = 0; nvml.entry(i) != nullptr; ++i) {
    const std::string entry = nvml.entry(i);
    if (nvml.calls_of(entry.c_str()) == 0 || entry == "nvmlInit_v2") continue;
    INFO(entry);
    for (const int code : {1, 2, not_supported, 4, 10, 20, unknown_error}) {
      nvml.fail(entry.c_str(), code);
      const int left = known(sample(device));
      // The memory that is in use is not known to the driver without a context.
      CHECK(left >= 10);
      const bool is_told = entry.find("DeviceGet") != std::string::npos && entry.find("Handle") == std::string::npos;
      CHECK((left < 12) == is_told);
      nvml.clear_failures();
    }
    nvml.fail_nth(entry.c_str(), 1, unknown_error);
    if (entry.find("nvmlDeviceGetP") == 0) {
      CHECK_THAT(anyplace::monitoring_source(device), contains(entry + ": NVML's code 999"));
    }
    nvml.clear_failures();
  }
  CHECK(known(sample(device)) == 12);
}

TEST_CASE("An NVML that doesn't begin is no error, and the source says what to do") {
  const Double cuda({{"CUDA_DOUBLE_MEMORY", "96M"}});
  const MonitorControl nvml(nvml_name);
  nvml.fail("nvmlInit_v2", 18);
  const Device device("cuda:0");
  const DeviceSample now = sample(device);
  CHECK_FALSE(now.temperature_celsius);
  CHECK_FALSE(now.memory_used_bytes);
  CHECK(now.memory_total_bytes == 96u << 20);
  CHECK_THAT(anyplace::monitoring_source(device), contains("nvmlInit_v2 gives 18") && contains("nvidia-smi"));
  CHECK(test::code_of([&] { device.processes(); }) == ErrorCode::unsupported);
  // With a context the driver itself knows the memory in use.
  const Buffer buffer(device, 1 << 20);
  CHECK(sample(device).memory_used_bytes >= 1u << 20);
}

TEST_CASE("A library of that name which has none of the calls is too old") {
  const MonitorControl nvml(ANYPLACE_NVML_OLD);
  const Double cuda;
  const Device device("cuda:0");
  CHECK(sample(device).temperature_celsius == Approx(54));
  CHECK_FALSE(sample(device).power_watts);
  CHECK_FALSE(sample(device).pcie_rx_bytes);
  CHECK_FALSE(device.has(Capability::list_processes));
  CHECK_FALSE(anyplace::list_processes(device));
}

std::optional<DeviceProcess> found(const std::vector<DeviceProcess>& processes, pid_t pid) {
  for (const DeviceProcess& process : processes) {
    if (process.id == static_cast<std::uint64_t>(pid)) return process;
  }
  return std::nullopt;
}

TEST_CASE("The processes of a device have their memory, name, kind and share") {
  const Double cuda;
  const MonitorControl nvml(nvml_name);
  const Device device("cuda:0");
  const Buffer buffer(device, 3 << 20);
  nvml.set(0, "other_process", static_cast<std::uint64_t>(getppid()));
  nvml.set(0, "other_graphics", 1);
  const std::vector<DeviceProcess> processes = device.processes();
  REQUIRE(processes.size() == 2);
  const DeviceProcess own = found(processes, getpid()).value();
  CHECK(own.memory_bytes >= 3u << 20);
  CHECK(own.name == "test_cuda");
  CHECK(own.compute == true);
  CHECK(own.graphics == false);
  CHECK(own.compute_utilization == Approx(0.25));
  const DeviceProcess other = found(processes, getppid()).value();
  CHECK(other.memory_bytes == 4096u);
  CHECK(other.compute == false);
  CHECK(other.graphics == true);
  CHECK_FALSE(other.compute_utilization);
  // torch's form of it.
  CHECK(anyplace::list_processes(device).value().size() == 2);
}

TEST_CASE("A process that ended or that this PID namespace doesn't know isn't listed") {
  const Double cuda;
  const MonitorControl nvml(nvml_name);
  const Device device("cuda:0");
  const pid_t ended = fork();
  if (ended == 0) _exit(0);
  REQUIRE(waitpid(ended, nullptr, 0) == ended);
  nvml.set(0, "other_process", static_cast<std::uint64_t>(ended));
  CHECK(device.processes().empty());
  const Buffer buffer(device, 1 << 20);
  CHECK(device.processes().size() == 1);
  nvml.set(0, "hides_us", 1);
  const anyplace::Error error = test::required_error(ErrorCode::unsupported, [&] { device.processes(); });
  CHECK_THAT(error.what(), contains("PID namespace"));
}

TEST_CASE("Any call of NVML's for processes that fails is an error of its own or leaves unknown what it tells") {
  const Double cuda;
  const MonitorControl nvml(nvml_name);
  const Device device("cuda:0");
  const Buffer buffer(device, 1 << 20);
  for (const int code : {1, 2, not_supported, 4, 20, unknown_error}) {
    nvml.fail("nvmlDeviceGetComputeRunningProcesses_v3", code);
    CHECK(test::code_of([&] { device.processes(); }) == ErrorCode::unsupported);
    nvml.clear_failures();
    nvml.fail("nvmlDeviceGetGraphicsRunningProcesses_v3", code);
    nvml.fail("nvmlDeviceGetProcessUtilization", code);
    const DeviceProcess own = found(device.processes(), getpid()).value();
    CHECK(own.compute == true);
    CHECK_FALSE(own.graphics);
    CHECK_FALSE(own.compute_utilization);
    nvml.clear_failures();
  }
  nvml.fail("nvmlDeviceGetComputeRunningProcesses_v3", gpu_is_lost);
  CHECK(test::code_of([&] { device.processes(); }) == ErrorCode::device_lost);
}

TEST_CASE("A process may exit while its threads sample") {
  for (int i = 0; i < 10; ++i) {
    const test::Ended result = test::in_child([] {
      test::set_env("CUDA_DOUBLE_DEVICES", "2");
      static const Double& cuda = *new Double;
      static_cast<void>(cuda);
      static std::atomic<int> sampled{0};
      for (int thread = 0; thread < 4; ++thread) {
        std::thread([thread] {
          try {
            for (;; ++sampled) static_cast<void>(sample(Device("cuda:" + std::to_string(thread % 2))));
          } catch (const anyplace::Error& error) {
            if (error.code() != ErrorCode::shut_down) std::abort();
          }
        }).detach();
      }
      while (sampled < 100) std::this_thread::yield();
      return 0;
    });
    CHECK(result.out == "");
    CHECK(result.signal == 0);
    CHECK(result.status == 0);
  }
}

}  // namespace monitor_test
