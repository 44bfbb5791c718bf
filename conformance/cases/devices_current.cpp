// SPDX-License-Identifier: Apache-2.0
// The current device, which each thread has for each backend, and the guards.
#include <stdexcept>

#include "support.h"

namespace anyplace::conformance::devices_current_cases {
namespace {

ANYPLACE_CASE("devices", "devices.current", "the current device is 0 until set") {
  CHECK_EQUAL(CALL(current_device(run.backend())).index(), 0);
}

ANYPLACE_CASE("devices", "devices.current", "the current device is the one that was set last", second_device) {
  for (const int index : {1, 0, 1}) {
    CALL(set_current_device(Device(Place(run.backend(), index))));
    CHECK_EQUAL(CALL(current_device(run.backend())).index(), index);
  }
}

ANYPLACE_CASE("devices", "devices.current", "setting the current device on one thread leaves the other threads' alone",
              second_device) {
  CALL(set_current_device(Device(Place(run.backend(), 1))));
  run_threads(3, [&](int thread) {
    CHECK_EQUAL(CALL(current_device(run.backend())).index(), 0);
    CALL(set_current_device(Device(Place(run.backend(), thread % 2))));
    CHECK_EQUAL(CALL(current_device(run.backend())).index(), thread % 2);
  });
  CHECK_EQUAL(CALL(current_device(run.backend())).index(), 1);
}

ANYPLACE_CASE("devices", "devices.current", "a guard switches the current device and restores it", second_device) {
  {
    const DeviceGuard guard(Device(Place(run.backend(), 1)));
    CHECK_EQUAL(CALL(current_device(run.backend())).index(), 1);
  }
  CHECK_EQUAL(CALL(current_device(run.backend())).index(), 0);
}

ANYPLACE_CASE("devices", "devices.current", "guards nest", second_device) {
  const DeviceGuard outer(Device(Place(run.backend(), 1)));
  {
    const DeviceGuard middle(Device(Place(run.backend(), 0)));
    {
      const DeviceGuard inner(Device(Place(run.backend(), 1)));
      CHECK_EQUAL(CALL(current_device(run.backend())).index(), 1);
    }
    CHECK_EQUAL(CALL(current_device(run.backend())).index(), 0);
  }
  CHECK_EQUAL(CALL(current_device(run.backend())).index(), 1);
}

ANYPLACE_CASE("devices", "devices.current", "a guard restores when an exception passes", second_device) {
  try {
    const DeviceGuard guard(Device(Place(run.backend(), 1)));
    throw std::runtime_error("on purpose");
  } catch (const std::runtime_error&) {
    CHECK_EQUAL(CALL(current_device(run.backend())).index(), 0);
  }
}

ANYPLACE_CASE("devices", "devices.current", "a guard restores what was there, whatever was set meanwhile",
              second_device) {
  CALL(set_current_device(Device(Place(run.backend(), 1))));
  {
    const DeviceGuard guard(Device(Place(run.backend(), 0)));
    CALL(set_current_device(Device(Place(run.backend(), 1))));
    CALL(set_current_device(Device(Place(run.backend(), 0))));
  }
  CHECK_EQUAL(CALL(current_device(run.backend())).index(), 1);
}

ANYPLACE_CASE("devices", "devices.current", "the backends' current devices are independent", second_device,
              other_backend) {
  CALL(set_current_device(Device(Place(run.backend(), 1))));
  CALL(set_current_device(run.other()));
  CHECK_EQUAL(CALL(current_device(run.backend())).index(), 1);
  CHECK_EQUAL(CALL(current_device(run.other().backend())), run.other());
}

ANYPLACE_CASE("devices", "devices.current", "a Device object means the same device whichever is current",
              second_device) {
  const Device first(Place(run.backend(), 0));
  const Device second(Place(run.backend(), 1));
  const DeviceGuard guard(second);
  const Stream stream = CALL(Stream(first));
  const Buffer buffer = CALL(Buffer(first, 16));
  const Event event = CALL(Event(first));
  CHECK_EQUAL(CALL(stream.device()), first);
  CHECK_EQUAL(CALL(buffer.device()), first);
  CHECK_EQUAL(CALL(event.device()), first);
}

ANYPLACE_CASE("devices", "devices.current", "work goes to the stream's device whichever is current", second_device) {
  const Device first(Place(run.backend(), 0));
  const Device second(Place(run.backend(), 1));
  const Stream stream = CALL(Stream(first));
  const Bytes contents = pattern(70001);
  const DeviceGuard guard(second);
  const Buffer buffer = upload(stream, contents);
  CHECK_BYTES(read(stream, buffer), contents);
}

ANYPLACE_CASE("devices", "devices.current", "two threads work on two devices at once", second_device) {
  run_threads(2, [&](int thread) {
    const Device device(Place(run.backend(), thread));
    const DeviceGuard guard(device);
    const Stream stream = CALL(Stream(current_device(run.backend())));
    const Bytes contents = pattern(300007, static_cast<std::uint64_t>(thread) + 1);
    for (int round = 0; round < 10; ++round) {
      const Buffer buffer = upload(stream, contents);
      CHECK_EQUAL(CALL(buffer.device()), device);
      CHECK_BYTES(read(stream, buffer), contents);
    }
    CHECK_EQUAL(CALL(current_device(run.backend())), device);
  });
}

}  // namespace
}  // namespace anyplace::conformance::devices_current_cases
