// SPDX-License-Identifier: Apache-2.0
//
// Samples as the core makes them: of a backend whose struct is shorter, of one that says nonsense, of a lost device;
// and cpu_sim's own.
#include "anyplace/monitor.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <thread>

#include "anyplace/anyplace.h"
#include "streams/plugins/forward.h"
#include "support/errors.h"

namespace monitor_test {

using anyplace::Capability;
using anyplace::Device;
using anyplace::DeviceSample;
using anyplace::ErrorCode;
using anyplace::Monitor;
using anyplace::sample;

TEST_CASE("Given cpu_sim then a sample has its memory and its workers' time, and nothing of hardware") {
  const Device device("cpu_sim:0");
  const DeviceSample before = sample(device);
  const anyplace::Buffer buffer(device, 8 << 20);
  const DeviceSample after = sample(device, before);
  CHECK(before.memory_total_bytes == device.memory_info().total);
  CHECK(after.memory_used_bytes.value() >= before.memory_used_bytes.value() + (8 << 20));
  CHECK(after.compute_active_ns.value() >= before.compute_active_ns.value());
  CHECK(after.compute_utilization.has_value());
  CHECK_FALSE(before.compute_utilization);
  CHECK_FALSE(after.memory_utilization);
  CHECK_FALSE(after.temperature_celsius);
  CHECK_FALSE(after.power_watts);
  CHECK_FALSE(after.core_clock_hz);
  CHECK_FALSE(after.throttle_reasons);
  CHECK_FALSE(after.ecc_corrected);
  CHECK_FALSE(after.pcie_rx_bytes);
  CHECK(anyplace::monitoring_source(device).find("cpu_sim") == 0);
}

TEST_CASE("Given a kernel that runs on cpu_sim then the workers' time goes on while it does") {
  const Device device("cpu_sim:0");
  const anyplace::Stream stream(device);
  std::atomic<bool> runs{false}, ends{false};
  const anyplace::Kernel kernel(device, [&](const anyplace::Block&) {
    runs = true;
    while (!ends) std::this_thread::yield();
  });
  Monitor monitor(device);
  stream.launch(kernel, {1, 1});
  while (!runs) std::this_thread::yield();
  // The turn under way counts from its beginning.
  const std::uint64_t first = monitor.sample().compute_active_ns.value();
  std::uint64_t next = first;
  while (next == first) next = monitor.sample().compute_active_ns.value();
  CHECK(next > first);
  CHECK(monitor.last().compute_active_ns == next);
  ends = true;
  stream.synchronize();
}

TEST_CASE("Given a sample that is later or was never taken then comparing with it is an error") {
  const Device device("cpu_sim:0");
  DeviceSample later = sample(device);
  later.steady_time += std::chrono::hours(1);
  CHECK(test::code_of([&] { sample(device, later); }) == ErrorCode::invalid_argument);
  CHECK(test::code_of([&] { sample(device, DeviceSample()); }) == ErrorCode::invalid_argument);
}

TEST_CASE("Given another device's sample then comparing with it is an error that names both") {
  const Device device("cpu_sim:0"), other("cpu_sim:1");
  const DeviceSample before = sample(other);
  CHECK(before.device == other);
  const anyplace::Error error =
      test::required_error(ErrorCode::invalid_argument, [&] { static_cast<void>(sample(device, before)); });
  CHECK(error.place() == "cpu_sim:0");
  CHECK(error.problem().find("cpu_sim:1") != std::string_view::npos);
  CHECK(sample(other, before).device == other);
}

TEST_CASE("Given a lost device or one that can't tell then its sample is an error") {
  test::Forward& control = test::new_forward();
  control.absent_capabilities = 1u << ANYPLACE_CAPABILITY_BIT_MONITORING;
  control.install("sim_b");
  const Device mute("sim_b:0");
  CHECK_FALSE(mute.has(Capability::monitoring));
  CHECK(test::code_of([&] { sample(mute); }) == ErrorCode::unsupported);
  CHECK(test::code_of([&] { anyplace::monitoring_source(mute); }) == ErrorCode::unsupported);
  test::Forward& other = test::new_forward();
  other.install("sim_c");
  const Device device("sim_c:0"), second("sim_c:1");
  Monitor monitor(device);
  other.lost_device = 0;
  CHECK(test::code_of([&] { monitor.sample(); }) == ErrorCode::device_lost);
  CHECK(sample(second).memory_total_bytes.has_value());
}

TEST_CASE("Given every reason then it has a name of its own") {
  CHECK(std::string(to_string(anyplace::ThrottleReason::idle)) == "idle");
  CHECK(std::string(to_string(anyplace::ThrottleReason::synchronized_clocks)) == "synchronized_clocks");
  CHECK(std::string(to_string(static_cast<anyplace::ThrottleReason>(99))) == "unknown");
}

}  // namespace monitor_test
