// SPDX-License-Identifier: Apache-2.0
// The default (null) stream, blocking streams, and each thread's own stream.
#include <set>

#include "support.h"

namespace anyplace::conformance::streams_default_cases {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t bytes = 1 << 16;

ANYPLACE_CASE("streams", "streams.default", "the default stream is the same each time and never null") {
  const Device device = run.device();
  CHECK(static_cast<bool>(CALL(device.default_stream())));
  CHECK_EQUAL(CALL(device.default_stream()), device.default_stream());
  CHECK_EQUAL(CALL(device.default_stream()).device(), device);
  run_threads(4, [&, id = device.default_stream().id()](int) { CHECK_EQUAL(CALL(device.default_stream()).id(), id); });
}

ANYPLACE_CASE("streams", "streams.default", "the default stream does work in order") {
  const StreamView stream = CALL(run.device().default_stream());
  const Bytes contents = pattern(1 << 20);
  const Buffer first = upload(stream, contents);
  const Buffer second = filled(stream, contents.size(), 0);
  CALL(stream.copy(second, first));
  CALL(stream.memset8(first, 0));
  CHECK_BYTES(read(stream, second), contents);
}

ANYPLACE_CASE("streams", "streams.default", "each device has a default stream of its own", second_device) {
  CHECK(!(CALL(run.device().default_stream()) == CALL(run.second().default_stream())));
  CHECK_EQUAL(CALL(run.second().default_stream()).device(), run.second());
}

ANYPLACE_CASE("streams", "streams.default", "work of the default stream waits for earlier work of a blocking stream",
              Capability::blocking_streams, Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const StreamView null = CALL(device.default_stream());
  const Stream blocking = CALL(Stream(device, {.blocking = true}));
  const Buffer source = filled(blocking, bytes, 1);
  const Buffer destination = filled(null, bytes, 0);
  gate.hold(blocking);
  CALL(blocking.memset8(source, 2));
  CALL(null.copy(destination, source));
  CHECK_STAYS_FALSE(null.query());
  gate.open();
  CALL(null.synchronize());
  CHECK_BYTES(read(destination), Bytes(bytes, 2));
}

ANYPLACE_CASE("streams", "streams.default", "work of a blocking stream waits for earlier work of the default stream",
              Capability::blocking_streams, Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const StreamView null = CALL(device.default_stream());
  const Stream blocking = CALL(Stream(device, {.blocking = true}));
  const Buffer source = filled(null, bytes, 1);
  const Buffer destination = filled(blocking, bytes, 0);
  gate.hold(null);
  CALL(null.memset8(source, 2));
  CALL(blocking.copy(destination, source));
  CHECK_STAYS_FALSE(blocking.query());
  gate.open();
  CALL(blocking.synchronize());
  CHECK_BYTES(read(destination), Bytes(bytes, 2));
}

ANYPLACE_CASE("streams", "streams.default", "the default stream waits for every blocking stream",
              Capability::blocking_streams, Capability::host_functions) {
  const Device device = run.device();
  const StreamView null = CALL(device.default_stream());
  for (std::size_t held = 0; held < 3; ++held) {
    HostGate gate;
    std::vector<Stream> streams;
    for (int i = 0; i < 3; ++i) streams.push_back(CALL(Stream(device, {.blocking = true})));
    const Buffer buffer = filled(null, bytes, 0);
    gate.hold(streams[held]);
    CALL(null.memset8(buffer, 1));
    CHECK_STAYS_FALSE(null.query());
    gate.open();
    CALL(null.synchronize());
    CHECK(streams[held].query());
  }
}

ANYPLACE_CASE("streams", "streams.default", "two blocking streams are ordered through the default stream between them",
              Capability::blocking_streams, Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const StreamView null = CALL(device.default_stream());
  const Stream first = CALL(Stream(device, {.blocking = true}));
  const Stream second = CALL(Stream(device, {.blocking = true}));
  const Buffer a = filled(first, bytes, 1);
  const Buffer b = filled(null, bytes, 0);
  const Buffer c = filled(second, bytes, 0);
  gate.hold(first);
  CALL(first.memset8(a, 2));
  CALL(null.copy(b, a));
  CALL(second.copy(c, b));
  CHECK_STAYS_FALSE(second.query());
  gate.open();
  CALL(second.synchronize());
  CHECK_BYTES(read(c), Bytes(bytes, 2));
}

ANYPLACE_CASE("streams", "streams.default", "two blocking streams with nothing in the default stream run by themselves",
              Capability::blocking_streams, Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream held = CALL(Stream(device, {.blocking = true}));
  const Stream free = CALL(Stream(device, {.blocking = true}));
  const Buffer buffer = filled(free, bytes, 1);
  CALL(device.synchronize());
  gate.hold(held);
  CALL(free.memset8(buffer, 2));
  CHECK(CALL(free.synchronize(1h)));
  CHECK(!held.query());
  gate.open();
  CHECK_BYTES(read(buffer), Bytes(bytes, 2));
}

ANYPLACE_CASE("streams", "streams.default", "a stream that isn't blocking isn't held up by the default stream",
              Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const StreamView null = CALL(device.default_stream());
  const Stream free = CALL(Stream(device));
  const Buffer buffer = filled(free, bytes, 1);
  CALL(null.synchronize());
  gate.hold(null);
  CALL(free.memset8(buffer, 2));
  CHECK(CALL(free.synchronize(1h)));
  CHECK(!null.query());
  gate.open();
  CHECK_BYTES(read(buffer), Bytes(bytes, 2));
}

ANYPLACE_CASE("streams", "streams.default", "the default stream isn't held up by a stream that isn't blocking",
              Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const StreamView null = CALL(device.default_stream());
  const Stream held = CALL(Stream(device));
  const Buffer buffer = filled(null, bytes, 1);
  gate.hold(held);
  CALL(null.memset8(buffer, 2));
  CHECK(CALL(null.synchronize(1h)));
  CHECK(!held.query());
  gate.open();
  CHECK_BYTES(read(buffer), Bytes(bytes, 2));
}

ANYPLACE_CASE("streams", "streams.default", "an event recorded in the default stream waits for the blocking streams",
              Capability::blocking_streams, Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream blocking = CALL(Stream(device, {.blocking = true}));
  const StreamView null = CALL(device.default_stream());
  gate.hold(blocking);
  const Event event = CALL(null.record_event());
  CHECK_STAYS_FALSE(event.query());
  gate.open();
  CALL(event.synchronize());
  CHECK(blocking.query());
}

ANYPLACE_CASE("streams", "streams.default", "an event recorded in a blocking stream waits for the default stream",
              Capability::blocking_streams, Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream blocking = CALL(Stream(device, {.blocking = true}));
  const StreamView null = CALL(device.default_stream());
  gate.hold(null);
  // The stream itself has no work.
  const Event event = CALL(blocking.record_event());
  CHECK_STAYS_FALSE(event.query());
  gate.open();
  CALL(event.synchronize());
  CHECK(null.query());
}

ANYPLACE_CASE("streams", "streams.default", "the rule of the default stream stays within its device",
              Capability::blocking_streams, Capability::host_functions, second_device) {
  HostGate gate;
  const StreamView null = CALL(run.device().default_stream());
  const Stream far = CALL(Stream(run.second(), {.blocking = true}));
  const Buffer buffer = filled(far, bytes, 1);
  gate.hold(null);
  CALL(far.memset8(buffer, 2));
  CHECK(CALL(far.synchronize(1h)));
  gate.open();
  CHECK_BYTES(read(buffer), Bytes(bytes, 2));
}

ANYPLACE_CASE("streams", "streams.default", "the rule of the default stream holds again and again",
              Capability::blocking_streams) {
  const Device device = run.device();
  const StreamView null = CALL(device.default_stream());
  const Stream first = CALL(Stream(device, {.blocking = true}));
  const Stream second = CALL(Stream(device, {.blocking = true}));
  std::vector<Buffer> buffers;
  const Bytes contents = pattern(1 << 20);
  buffers.push_back(upload(null, contents));
  for (int i = 0; i < 30; ++i) buffers.push_back(CALL(Buffer(null, contents.size())));
  for (std::size_t i = 1; i < buffers.size(); ++i) {
    const StreamView stream = i % 4 == 1 ? first.view() : i % 4 == 3 ? second.view() : null;
    CALL(stream.copy(buffers[i], buffers[i - 1]));
  }
  CALL(device.synchronize());
  CHECK_BYTES(read(buffers.back()), contents);
}

// ---- Per thread

ANYPLACE_CASE("streams", "streams.per_thread", "a thread's own stream is the same each time",
              Capability::blocking_streams) {
  const Device device = run.device();
  CHECK_EQUAL(CALL(device.per_thread_stream()), device.per_thread_stream());
  CHECK_EQUAL(CALL(device.per_thread_stream()).device(), device);
  CHECK(!(CALL(device.per_thread_stream()) == device.default_stream()));
}

ANYPLACE_CASE("streams", "streams.per_thread", "each thread has a stream of its own", Capability::blocking_streams) {
  const Device device = run.device();
  std::vector<std::uint64_t> ids(5);
  ids[4] = CALL(device.per_thread_stream()).id();
  run_threads(4, [&](int i) { ids[static_cast<std::size_t>(i)] = CALL(device.per_thread_stream()).id(); });
  CHECK_EQUAL(std::set<std::uint64_t>(ids.begin(), ids.end()).size(), ids.size());
}

ANYPLACE_CASE("streams", "streams.per_thread", "a thread has another stream of its own on each device",
              Capability::blocking_streams, second_device) {
  CHECK(!(CALL(run.device().per_thread_stream()) == CALL(run.second().per_thread_stream())));
  CHECK_EQUAL(CALL(run.second().per_thread_stream()).device(), run.second());
}

ANYPLACE_CASE("streams", "streams.per_thread", "a thread's own stream synchronises with the default stream",
              Capability::blocking_streams, Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const StreamView null = CALL(device.default_stream());
  const StreamView own = CALL(device.per_thread_stream());
  const Buffer buffer = filled(own, bytes, 1);
  gate.hold(null);
  CALL(own.memset8(buffer, 2));
  CHECK_STAYS_FALSE(own.query());
  gate.open();
  CALL(own.synchronize());
  CHECK(null.query());
}

ANYPLACE_CASE("streams", "streams.per_thread", "two threads' own streams don't wait for each other",
              Capability::blocking_streams, Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const StreamView own = CALL(device.per_thread_stream());
  gate.hold(own);
  run_threads(1, [&](int) {
    const StreamView theirs = CALL(device.per_thread_stream());
    const Buffer buffer = CALL(Buffer(theirs, bytes));
    CALL(theirs.memset8(buffer, 2));
    CHECK(CALL(theirs.synchronize(1h)));
  });
  CHECK(!own.query());
  gate.open();
  CALL(own.synchronize());
}

ANYPLACE_CASE("streams", "streams.per_thread", "a thread's own stream is retired with its thread, after its work",
              Capability::blocking_streams) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, 4 << 20, 1);
  StreamView theirs;
  run_threads(1, [&](int) {
    theirs = CALL(device.per_thread_stream());
    buffer.record_stream(theirs);
    for (int i = 2; i < 20; ++i) CALL(theirs.memset8(buffer, static_cast<std::uint8_t>(i)));
  });
  CHECK_ERROR(invalid_handle, theirs.query());
  CALL(device.synchronize());
  CHECK_BYTES(read(buffer), Bytes(4 << 20, 19));
}

ANYPLACE_CASE("streams", "streams.per_thread", "the streams of a thousand threads come and go",
              Capability::blocking_streams) {
  const Device device = run.device();
  for (int round = 0; round < 125; ++round) {
    run_threads(8, [&](int) {
      const Buffer buffer = CALL(Buffer(device.per_thread_stream(), 4096));
      CALL(device.per_thread_stream().memset8(buffer, 1));
    });
  }
  CALL(device.synchronize());
}

}  // namespace
}  // namespace anyplace::conformance::streams_default_cases
