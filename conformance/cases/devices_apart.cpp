// SPDX-License-Identifier: Apache-2.0
// Devices of one backend are separate: their figures, their work, their vendor's handles. None is a peer of itself.
#include <algorithm>

#include "table_backend.h"

namespace anyplace::conformance::devices_apart_cases {
namespace {

std::int64_t free_bytes(const TableBackend& backend, std::int32_t device) {
  const anyplace_memory_info info = backend.memory(device);
  if (info.free_bytes == ANYPLACE_UNKNOWN) skip("a free figure that the vendor can tell");
  return static_cast<std::int64_t>(info.free_bytes);
}

/// Another process may allocate or free meanwhile, so a round may be wrong, but not every one.
ANYPLACE_CASE("devices apart", "memory.figures",
              "memory that is allocated on one device is missing there and nowhere else", second_device) {
  TableBackend backend(run);
  const std::int32_t devices[2] = {backend.device(), backend.second()};
  for (int i = 0; i < 2; ++i) {
    const std::int64_t bytes = std::min(free_bytes(backend, devices[i]), free_bytes(backend, devices[1 - i])) / 4;
    bool right = false;
    std::string wrong;
    for (int round = 0; round < 5 && !right; ++round) {
      const std::int64_t own = free_bytes(backend, devices[i]);
      const std::int64_t other = free_bytes(backend, devices[1 - i]);
      anyplace_address address = 0;
      MUST(backend, memory_allocate, devices[i], ANYPLACE_MEMORY_DEVICE, static_cast<std::uint64_t>(bytes), &address);
      const std::int64_t own_less = own - free_bytes(backend, devices[i]);
      const std::int64_t other_less = other - free_bytes(backend, devices[1 - i]);
      MUST(backend, memory_free, devices[i], ANYPLACE_MEMORY_DEVICE, address);
      right = own_less >= bytes / 2 && other_less < bytes / 2;
      wrong = std::to_string(bytes) + " bytes of device " + std::to_string(devices[i]) + ": it has " +
              std::to_string(own_less) + " less, device " + std::to_string(devices[1 - i]) + " has " +
              std::to_string(other_less) + " less";
    }
    if (!right) check_failed(__FILE__, __LINE__, wrong);
  }
}

ANYPLACE_CASE("devices apart", "devices.synchronize", "synchronising one device doesn't wait for another",
              second_device) {
  TableBackend backend(run);
  const std::int32_t devices[2] = {backend.device(), backend.second()};
  for (int i = 0; i < 2; ++i) {
    const anyplace_stream held = backend.stream_of(devices[i]);
    const anyplace_stream other = backend.stream_of(devices[1 - i]);
    TableHold hold(backend);
    hold.hold(held);
    anyplace_event event = 0;
    const anyplace_event_desc desc{sizeof(desc), 0};
    MUST(backend, event_create, devices[1 - i], &desc, &event);
    MUST(backend, event_record, event, other);
    MUST(backend, device_synchronize, devices[1 - i], ANYPLACE_FOREVER);
    std::int32_t done = 0;
    MUST(backend, event_query, event, &done);
    CHECK_EQUAL(done, 1);
    hold.open();
    MUST(backend, device_synchronize, devices[i], ANYPLACE_FOREVER);
    MUST(backend, stream_query, held, &done);
    CHECK_EQUAL(done, 1);
  }
}

ANYPLACE_CASE("devices apart", "devices.properties", "no two devices have one identity", second_device) {
  TableBackend backend(run);
  const anyplace_device_properties first = backend.properties(backend.device());
  const anyplace_device_properties second = backend.properties(backend.second());
  for (const auto& [a, b] : {std::pair(std::string(first.uuid), std::string(second.uuid)),
                             std::pair(std::string(first.pci), std::string(second.pci))}) {
    CHECK(a.empty() || a != b);
  }
}

ANYPLACE_CASE("devices apart", "devices.peer", "a device is no peer of itself", Capability::peer_access) {
  TableBackend backend(run);
  std::int32_t count = 0;
  MUST(backend, device_count, &count);
  for (std::int32_t device = 0; device < std::min(count, 8); ++device) {
    std::int32_t can = 0;
    MUST(backend, peer_query, device, device, &can);
    CHECK_EQUAL(can, 0);
  }
}

ANYPLACE_CASE("devices apart", "devices.peer",
              "peer access that peer_query says is possible can be enabled and disabled", Capability::peer_access,
              second_device) {
  TableBackend backend(run);
  for (const auto& [device, peer] :
       {std::pair(backend.device(), backend.second()), std::pair(backend.second(), backend.device())}) {
    std::int32_t can = -1;
    MUST(backend, peer_query, device, peer, &can);
    CHECK(can == 0 || can == 1);
    if (can == 0) continue;
    for (int round = 0; round < 3; ++round) {
      MUST(backend, peer_enable, device, peer);
      MUST(backend, peer_enable, device, peer);
      MUST(backend, peer_disable, device, peer);
      MUST(backend, peer_disable, device, peer);
    }
  }
}

// ---- Wrapped streams

ANYPLACE_CASE("devices apart", "streams.native",
              "destroying one wrapper of a stream, or two, leaves the vendor's stream as it is",
              Capability::native_handles, Capability::stream_from_native) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_stream other = backend.stream();
  const anyplace_event event = backend.event();
  const anyplace_address memory = backend.allocate(4096);
  const std::uint64_t native = backend.native(stream);
  for (std::uint8_t round = 1; round <= 20; ++round) {
    TableHold hold(backend);
    const anyplace_stream first = backend.wrapper_of(native, 10000u + round);
    const anyplace_stream second = backend.wrapper_of(native, 20000u + round);
    if (round % 3 == 0) hold.hold(first);
    MUST(backend, memory_set, first, memory, round, 1, 4096);
    backend.destroy(first);
    hold.open();
    MUST(backend, memory_set, second, memory, round + 100u, 1, 4096);
    if (round % 2 == 0) backend.synchronize(second);
    backend.destroy(second);
    // The stream takes work, runs it in order, is waited for and waits, as before.
    MUST(backend, memory_set, stream, memory, round + 50u, 1, 2048);
    MUST(backend, event_record, event, stream);
    MUST(backend, stream_wait_event, other, event);
    backend.synchronize(stream);
    MUST(backend, event_synchronize, event, ANYPLACE_FOREVER);
    Bytes expected(4096, static_cast<std::uint8_t>(round + 100));
    std::fill_n(expected.begin(), 2048, static_cast<std::uint8_t>(round + 50));
    CHECK_BYTES(backend.read(other, memory, 4096), expected);
    CHECK_EQUAL(backend.native(stream), native);
  }
  backend.destroy(stream);
}

}  // namespace
}  // namespace anyplace::conformance::devices_apart_cases
