// SPDX-License-Identifier: Apache-2.0
// The current stream, which each thread has for each device, and the guards.
#include <stdexcept>

#include "support.h"

namespace anyplace::conformance::streams_current_cases {
namespace {

ANYPLACE_CASE("streams", "streams.current", "the current stream starts as the default stream") {
  const Device device = run.device();
  CHECK_EQUAL(CALL(current_stream(device)), device.default_stream());
}

ANYPLACE_CASE("streams", "streams.current", "the current stream is the one that was set last") {
  const Device device = run.device();
  const Stream first = CALL(Stream(device));
  const Stream second = CALL(Stream(device));
  CALL(set_current_stream(first));
  CHECK_EQUAL(CALL(current_stream(device)), first.view());
  CALL(set_current_stream(second));
  CHECK_EQUAL(CALL(current_stream(device)), second.view());
  CALL(set_current_stream(device.default_stream()));
  CHECK_EQUAL(CALL(current_stream(device)), device.default_stream());
}

ANYPLACE_CASE("streams", "streams.current",
              "setting the current stream on one thread leaves the other threads' alone") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  CALL(set_current_stream(stream));
  run_threads(3, [&](int) {
    CHECK_EQUAL(CALL(current_stream(device)), device.default_stream());
    const Stream own = CALL(Stream(device));
    CALL(set_current_stream(own));
    CHECK_EQUAL(CALL(current_stream(device)), own.view());
    CALL(set_current_stream(device.default_stream()));
  });
  CHECK_EQUAL(CALL(current_stream(device)), stream.view());
}

ANYPLACE_CASE("streams", "streams.current", "each device has a current stream of its own", second_device) {
  const Device first = run.device();
  const Device second = run.second();
  const Stream stream = CALL(Stream(first));
  CALL(set_current_stream(stream));
  CHECK_EQUAL(CALL(current_stream(second)), second.default_stream());
  CHECK_EQUAL(CALL(current_stream(first)), stream.view());
}

ANYPLACE_CASE("streams", "streams.current", "setting the current stream leaves the current device alone",
              second_device) {
  const Stream stream = CALL(Stream(Device(Place(run.backend(), 1))));
  CALL(set_current_stream(stream));
  CHECK_EQUAL(CALL(current_device(run.backend())).index(), 0);
}

ANYPLACE_CASE("streams", "streams.current", "a guard switches the stream and restores it") {
  const Device device = run.device();
  const Stream outer = CALL(Stream(device));
  const Stream inner = CALL(Stream(device));
  CALL(set_current_stream(outer));
  {
    const StreamGuard guard(inner);
    CHECK_EQUAL(CALL(current_stream(device)), inner.view());
  }
  CHECK_EQUAL(CALL(current_stream(device)), outer.view());
}

ANYPLACE_CASE("streams", "streams.current", "a guard switches the device too and restores both", second_device) {
  const Device first(Place(run.backend(), 0));
  const Device second(Place(run.backend(), 1));
  const Stream stream = CALL(Stream(second));
  {
    const StreamGuard guard(stream);
    CHECK_EQUAL(CALL(current_device(run.backend())), second);
    CHECK_EQUAL(CALL(current_stream(second)), stream.view());
    CHECK_EQUAL(CALL(current_stream(first)), first.default_stream());
  }
  CHECK_EQUAL(CALL(current_device(run.backend())), first);
  CHECK_EQUAL(CALL(current_stream(second)), second.default_stream());
}

ANYPLACE_CASE("streams", "streams.current", "a guard restores when an exception passes") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  try {
    const StreamGuard guard(stream);
    throw std::runtime_error("on purpose");
  } catch (const std::runtime_error&) {
    CHECK_EQUAL(CALL(current_stream(device)), device.default_stream());
  }
}

ANYPLACE_CASE("streams", "streams.current", "a guard of a destroyed stream is refused and changes nothing") {
  const Device device = run.device();
  StreamView gone;
  {
    const Stream stream = CALL(Stream(device));
    gone = stream;
  }
  CHECK_ERROR(invalid_handle, StreamGuard(gone));
  CHECK_EQUAL(CALL(current_stream(device)), device.default_stream());
}

ANYPLACE_CASE("streams", "streams.current", "a buffer made on a device belongs to its current stream",
              Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream stream = CALL(Stream(device));
  const Stream free = CALL(Stream(device));
  const StreamGuard guard(stream);
  Buffer buffer = CALL(Buffer(device, 1 << 20));
  const Buffer copy = filled(free, 1 << 20, 0);
  CALL(stream.synchronize());
  gate.hold(stream);
  CALL(stream.memset8(buffer, 7));
  CALL(stream.copy(copy, buffer));
  buffer = Buffer();
  const Buffer next = filled(free, 1 << 20, 9);
  gate.open();
  CALL(stream.synchronize());
  CHECK_BYTES(read(copy), Bytes(1 << 20, 7));
  CHECK_BYTES(read(next), Bytes(1 << 20, 9));
}

ANYPLACE_CASE("streams", "streams.current", "a stream works on its own device while another is current",
              second_device) {
  const Device first(Place(run.backend(), 0));
  const Device second(Place(run.backend(), 1));
  const Stream near = CALL(Stream(first));
  const Stream far = CALL(Stream(second));
  const Buffer near_buffer = filled(near, 65536, 1);
  const Buffer far_buffer = filled(far, 65536, 2);
  {
    const StreamGuard guard(far);
    CALL(near.memset8(near_buffer, 3));
    const Event event = CALL(near.record_event());
    CHECK_EQUAL(CALL(event.device()), first);
    CALL(event.synchronize());
  }
  CHECK_BYTES(read(near_buffer), Bytes(65536, 3));
  CHECK_BYTES(read(far_buffer), Bytes(65536, 2));
}

}  // namespace
}  // namespace anyplace::conformance::streams_current_cases
