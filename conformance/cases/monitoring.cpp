// SPDX-License-Identifier: Apache-2.0
// The figures of a device while it works; figures that it can't tell are unknown.
#include <cstring>
#include <optional>

#include "table_backend.h"

namespace anyplace::conformance::monitoring_cases {
namespace {

constexpr std::uint64_t bytes = 64 << 20;

void check_share(const std::optional<double>& share) { CHECK(!share || (*share >= 0 && *share <= 1)); }
/// Checks a figure that can't be 0, where 0 would stand for unknown.
template <class Number>
void check_not_zero(const std::optional<Number>& figure) {
  CHECK(!figure || *figure > 0);
}

ANYPLACE_CASE("monitoring", "monitoring.sample", "known figures are within their ranges, and the others are unknown",
              Capability::monitoring) {
  const Device device = run.device();
  const DeviceSample first = CALL(sample(device));
  const DeviceSample now = CALL(sample(device, first));
  check_share(now.compute_utilization);
  check_share(now.memory_utilization);
  check_not_zero(now.memory_total_bytes);
  check_not_zero(now.power_limit_watts);
  check_not_zero(now.core_clock_hz);
  check_not_zero(now.memory_clock_hz);
  check_not_zero(now.active_clock_ns);
  CHECK(!now.temperature_celsius || (*now.temperature_celsius > -60 && *now.temperature_celsius < 200));
  CHECK(!now.power_watts || (*now.power_watts >= 0 && *now.power_watts < 1e5));
  CHECK(!now.compute_active_ns || now.active_clock_ns);
  CHECK(!now.memory_active_ns || now.active_clock_ns);
}

ANYPLACE_CASE("monitoring", "monitoring.sample", "figures that aren't known are 0", Capability::monitoring) {
  const TableBackend backend(run);
  anyplace_device_sample taken{};
  taken.struct_size = sizeof(taken);
  MUST(backend, device_sample, backend.device(), &taken);
  CHECK(std::memchr(taken.source, '\0', sizeof(taken.source)) != nullptr);
#define ANYPLACE_CHECK_UNKNOWN(upper, lower, bit, text) CHECK((taken.known >> (bit)&1) != 0 || taken.lower == 0);
  ANYPLACE_SAMPLE_LIST(ANYPLACE_CHECK_UNKNOWN)
#undef ANYPLACE_CHECK_UNKNOWN
  CHECK((taken.known & 1u << ANYPLACE_SAMPLE_BIT_THROTTLE) == 0 || (taken.throttle >> 32) == 0);
}

ANYPLACE_CASE("monitoring", "monitoring.sample", "a caller's shorter struct is filled up to its size",
              Capability::monitoring) {
  const TableBackend backend(run);
  constexpr std::size_t end = offsetof(anyplace_device_sample, memory_ppm);
  anyplace_device_sample taken;
  std::memset(&taken, 0xa5, sizeof(taken));
  taken.struct_size = end;
  MUST(backend, device_sample, backend.device(), &taken);
  const auto* const raw = reinterpret_cast<const unsigned char*>(&taken);
  for (std::size_t i = end; i < sizeof(taken); ++i) CHECK(raw[i] == 0xa5);
}

ANYPLACE_CASE("monitoring", "monitoring.sample", "a sample waits for no work", Capability::monitoring,
              Capability::host_functions) {
  HostGate gate;
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  gate.hold(stream);
  gate.wait_until_held();
  static_cast<void>(CALL(sample(device)));
  CHECK(!CALL(stream.query()));
  gate.open();
  CALL(stream.synchronize());
}

ANYPLACE_CASE("monitoring", "monitoring.sample", "several threads may sample while others work",
              Capability::monitoring) {
  const Device device = run.device();
  run_threads(4, [&](int number) {
    const Stream stream = CALL(Stream(device));
    Monitor monitor(device);
    for (int round = 0; round < 10; ++round) {
      if (number % 2 == 0) static_cast<void>(filled(stream, 1 << 16, 2));
      check_share(CALL(monitor.sample()).compute_utilization);
    }
  });
}

ANYPLACE_CASE("monitoring", "monitoring.sample", "in a forked process a sample is refused", Capability::monitoring) {
  const Device device = run.device();
  static_cast<void>(CALL(sample(device)));
  CHECK_FORKED(CHECK_ERROR(forked, sample(device)));
}

template <class Number>
void check_no_less(const std::optional<Number>& before, const std::optional<Number>& after) {
  CHECK(!before || !after || *after >= *before);
}

ANYPLACE_CASE("monitoring", "monitoring.counters", "counters never fall", Capability::monitoring) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  DeviceSample before = CALL(sample(device));
  for (int round = 0; round < 20; ++round) {
    static_cast<void>(filled(stream, 1 << 20, 1));
    const DeviceSample now = CALL(sample(device, before));
    check_no_less(before.energy_joules, now.energy_joules);
    check_no_less(before.compute_active_ns, now.compute_active_ns);
    check_no_less(before.memory_active_ns, now.memory_active_ns);
    check_no_less(before.active_clock_ns, now.active_clock_ns);
    check_no_less(before.pcie_rx_bytes, now.pcie_rx_bytes);
    check_no_less(before.pcie_tx_bytes, now.pcie_tx_bytes);
    check_no_less(before.link_rx_bytes, now.link_rx_bytes);
    check_no_less(before.link_tx_bytes, now.link_tx_bytes);
    check_no_less(before.ecc_corrected, now.ecc_corrected);
    check_no_less(before.ecc_uncorrected, now.ecc_uncorrected);
    before = now;
  }
}

ANYPLACE_CASE("monitoring", "monitoring.counters", "what is computed from two samples is of the time between them",
              Capability::monitoring) {
  const Device device = run.device();
  const DeviceSample first = CALL(sample(device));
  CHECK(!first.rates_window && !first.utilization_window && !first.pcie_rx_bytes_per_second);
  CHECK(!first.compute_active_ns || !first.compute_utilization);
  const DeviceSample second = CALL(sample(device, first));
  CHECK(second.rates_window == second.steady_time - first.steady_time);
  CHECK(!second.utilization_window || second.utilization_window->count() > 0);
  CHECK_ERROR(invalid_argument, sample(device, DeviceSample()));
}

ANYPLACE_CASE("monitoring", "monitoring.memory", "memory that this process allocated is in use",
              Capability::monitoring) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  const DeviceSample now = CALL(sample(device));
  if (!now.memory_used_bytes) skip("a vendor that tells the memory in use");
  CHECK(*now.memory_used_bytes >= bytes);
}

ANYPLACE_CASE("monitoring", "monitoring.memory", "no more memory is in use than there is", Capability::monitoring) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  for (const std::uint64_t size : {std::uint64_t{1} << 12, bytes}) {
    const Buffer buffer = filled(stream, size, 1);
    const DeviceSample now = CALL(sample(device));
    CHECK(!now.memory_used_bytes || !now.memory_total_bytes || *now.memory_used_bytes <= *now.memory_total_bytes);
  }
}

}  // namespace
}  // namespace anyplace::conformance::monitoring_cases
