// SPDX-License-Identifier: Apache-2.0
// The state of a stream's work, its native handle, its identity, and destroying it.
#include <set>
#include <thread>

#include "support.h"

namespace anyplace::conformance::streams_state_cases {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t bytes = 1 << 16;

// ---- query

ANYPLACE_CASE("streams", "streams.query", "query of a new stream is true") {
  const Stream stream = CALL(Stream(run.device()));
  CHECK(stream.query());
}

ANYPLACE_CASE("streams", "streams.query", "query is false while work is pending and true when it is done",
              Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  gate.hold(stream);
  CHECK_STAYS_FALSE(stream.query());
  gate.open();
  CALL(stream.synchronize());
  CHECK(stream.query());
}

ANYPLACE_CASE("streams", "streams.query", "query is false while a fill waits", Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream held = CALL(Stream(device));
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  gate.hold(held);
  CALL(stream.wait_stream(held));
  CALL(stream.memset8(buffer, 2));
  CHECK_STAYS_FALSE(stream.query());
  gate.open();
  CALL(stream.synchronize());
  CHECK(stream.query());
}

ANYPLACE_CASE("streams", "streams.query", "polling query sees the end of the work") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = CALL(Buffer(stream, 4 << 20));
  for (int i = 0; i < 20; ++i) CALL(stream.memset8(buffer, static_cast<std::uint8_t>(i)));
  step(__FILE__, __LINE__, "polling stream.query() until it is true");
  while (!stream.query()) std::this_thread::yield();
  CHECK_BYTES(read(buffer), Bytes(4 << 20, 19));
}

ANYPLACE_CASE("streams", "streams.query", "when query is true the results of the work are there") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = CALL(Buffer(stream, 4 << 20));
  Bytes host(4 << 20);
  for (int i = 1; i <= 10; ++i) {
    CALL(stream.memset8(buffer, static_cast<std::uint8_t>(i)));
    CALL(stream.copy(host, buffer));
    step(__FILE__, __LINE__, "polling stream.query() until it is true");
    while (!stream.query()) std::this_thread::yield();
    CHECK_BYTES(host, Bytes(4 << 20, static_cast<std::uint8_t>(i)));
  }
}

ANYPLACE_CASE("streams", "streams.query", "query submits nothing and waits for nothing", Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  gate.hold(stream);
  for (int i = 0; i < 1000; ++i) CHECK(!stream.query());
  gate.open();
}

// ---- synchronize

ANYPLACE_CASE("streams", "streams.synchronize", "synchronize returns at once when there is nothing to do") {
  const Stream stream = CALL(Stream(run.device()));
  CALL(stream.synchronize());
  CALL(stream.synchronize());
  CHECK(CALL(stream.synchronize(0ns)));
}

ANYPLACE_CASE("streams", "streams.synchronize", "synchronize returns after all work of the stream") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = CALL(Buffer(stream, 8 << 20));
  Bytes host(8 << 20);
  for (int round = 1; round <= 8; ++round) {
    CALL(stream.memset8(buffer, static_cast<std::uint8_t>(round)));
    CALL(stream.copy(host, buffer));
    CALL(stream.synchronize());
    CHECK(stream.query());
    CHECK_BYTES(host, Bytes(8 << 20, static_cast<std::uint8_t>(round)));
  }
}

ANYPLACE_CASE("streams", "streams.synchronize", "synchronize doesn't return while a host function runs",
              Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  gate.hold(stream);
  Signal returned;
  std::exception_ptr thrown;
  std::thread waiter([&] {
    try {
      stream.synchronize();
    } catch (...) {
      thrown = std::current_exception();
    }
    returned.set();
  });
  try {
    CHECK_STAYS_FALSE(returned.is_set());
  } catch (...) {
    gate.open();
    waiter.join();
    throw;
  }
  gate.open();
  waiter.join();
  if (thrown) std::rethrow_exception(thrown);
}

ANYPLACE_CASE("streams", "streams.synchronize", "synchronize with a timeout returns false when time ran out",
              Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = filled(stream, bytes, 1);
  gate.hold(stream);
  CALL(stream.memset8(buffer, 2));
  CHECK(!CALL(stream.synchronize(0ns)));
  CHECK(!CALL(stream.synchronize(1us)));
  CHECK(!CALL(stream.synchronize(20ms)));
  gate.open();
  CHECK(CALL(stream.synchronize(1h)));
  CHECK_BYTES(read(buffer), Bytes(bytes, 2));
}

ANYPLACE_CASE("streams", "streams.synchronize", "synchronize never times out early", Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  gate.hold(stream);
  const auto before = std::chrono::steady_clock::now();
  CHECK(!CALL(stream.synchronize(30ms)));
  CHECK(std::chrono::steady_clock::now() - before >= 30ms);
  gate.open();
}

ANYPLACE_CASE("streams", "streams.synchronize", "the longest timeout doesn't overflow") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = CALL(Buffer(stream, 1 << 20));
  CALL(stream.memset8(buffer, 2));
  CHECK(CALL(stream.synchronize(std::chrono::nanoseconds::max())));
}

ANYPLACE_CASE("streams", "streams.synchronize", "a negative timeout runs out at once", Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  gate.hold(stream);
  CHECK(!CALL(stream.synchronize(-1ns)));
  CHECK(!CALL(stream.synchronize(std::chrono::nanoseconds::min())));
  gate.open();
  CALL(stream.synchronize());
}

ANYPLACE_CASE("streams", "streams.synchronize", "synchronize doesn't wait for another stream",
              Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream held = CALL(Stream(device));
  const Stream stream = CALL(Stream(device));
  gate.hold(held);
  CALL(stream.synchronize());
  CHECK(!held.query());
  gate.open();
}

ANYPLACE_CASE("streams", "streams.synchronize", "several threads may synchronise one stream",
              Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  gate.hold(stream);
  std::thread opener([&] { gate.open(); });
  run_threads(6, [&](int) {
    CALL(stream.synchronize());
    CHECK(stream.query());
  });
  opener.join();
}

// ---- native

ANYPLACE_CASE("streams", "streams.native", "two streams have different native handles", Capability::native_handles) {
  const Stream first = CALL(Stream(run.device()));
  const Stream second = CALL(Stream(run.device()));
  CHECK(CALL(first.native_handle()) != CALL(second.native_handle()));
}

ANYPLACE_CASE("streams", "streams.native", "a wrapped stream is the same stream to the device",
              Capability::native_handles, Capability::stream_from_native, Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream stream = CALL(Stream(device));
  const Stream wrapped = CALL(Stream::from_native(device, stream.native_handle()));
  CHECK(!(wrapped == stream));
  CHECK_EQUAL(CALL(wrapped.device()), device);
  const Buffer buffer = filled(stream, bytes, 1);
  gate.hold(stream);
  CALL(wrapped.memset8(buffer, 2));
  CHECK_STAYS_FALSE(wrapped.query());
  gate.open();
  CALL(wrapped.synchronize());
  CHECK_BYTES(read(buffer), Bytes(bytes, 2));
}

ANYPLACE_CASE("streams", "streams.native", "destroying the wrapper leaves the stream alone", Capability::native_handles,
              Capability::stream_from_native) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  for (int i = 0; i < 10; ++i) {
    const Stream wrapped = CALL(Stream::from_native(device, stream.native_handle()));
    CALL(wrapped.memset8(buffer, static_cast<std::uint8_t>(i)));
  }
  CALL(stream.memset8(buffer, 99));
  CHECK_BYTES(read(stream, buffer), Bytes(bytes, 99));
}

ANYPLACE_CASE("streams", "streams.native", "a wrapper of a native handle reports the same handle",
              Capability::native_handles, Capability::stream_from_native) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Stream wrapped = CALL(Stream::from_native(device, stream.native_handle()));
  CHECK_EQUAL(CALL(wrapped.native_handle()), CALL(stream.native_handle()));
}

// ---- identity

ANYPLACE_CASE("streams", "streams.identity", "a stream's number is never reused") {
  const Device device = run.device();
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 500; ++i) {
    const Stream stream = CALL(Stream(device));
    CHECK(seen.insert(stream.id()).second);
  }
}

ANYPLACE_CASE("streams", "streams.identity", "an event's number is never reused") {
  const Device device = run.device();
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 500; ++i) {
    const Event event = CALL(Event(device));
    CHECK(seen.insert(event.id()).second);
  }
}

ANYPLACE_CASE("streams", "streams.identity", "a buffer's number is never reused") {
  const Stream stream = CALL(Stream(run.device()));
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 500; ++i) {
    const Buffer buffer = CALL(Buffer(stream, 256));
    CHECK(seen.insert(buffer.id()).second);
  }
}

ANYPLACE_CASE("streams", "streams.identity", "equality, order and hash go by the number") {
  const Stream first = CALL(Stream(run.device()));
  const Stream second = CALL(Stream(run.device()));
  const StreamView copy = first;
  CHECK(copy == first.view());
  CHECK(!(first == second));
  CHECK((first < second) == (first.id() < second.id()));
  CHECK(std::hash<StreamView>()(copy) == std::hash<StreamView>()(first));
  CHECK(StreamView(first.id()) == copy);
}

ANYPLACE_CASE("streams", "streams.identity", "moving a stream keeps its number and empties the source") {
  Stream first = CALL(Stream(run.device()));
  const std::uint64_t id = first.id();
  Stream second = std::move(first);
  CHECK_EQUAL(second.id(), id);
  CHECK(!first);  // NOLINT(bugprone-use-after-move): the case is about the source
  first = std::move(second);
  CHECK_EQUAL(first.id(), id);
  CALL(first.synchronize());
}

// ---- destroy

ANYPLACE_CASE("streams", "streams.destroy", "the work of a destroyed stream completes", Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream keeper = CALL(Stream(device));
  const Buffer buffer = filled(keeper, bytes, 1);
  Stream stream = CALL(Stream(device));
  gate.hold(stream);
  CALL(stream.memset8(buffer, 2));
  const Event event = CALL(stream.record_event());
  stream = Stream();
  CHECK_STAYS_FALSE(event.query());
  gate.open();
  CALL(event.synchronize());
  CHECK_BYTES(read(buffer), Bytes(bytes, 2));
}

ANYPLACE_CASE("streams", "streams.destroy", "all work of many destroyed streams completes") {
  const Device device = run.device();
  const Stream keeper = CALL(Stream(device));
  const Buffer buffer = filled(keeper, 200 * 4096, 0);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Stream stream = CALL(Stream(device));
    CALL(stream.memset8(buffer.sub(i * 4096, 4096), static_cast<std::uint8_t>(i + 1)));
  }
  CALL(device.synchronize());
  const Bytes got = read(buffer);
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] != i / 4096 + 1) check_failed(__FILE__, __LINE__, "the work of a destroyed stream is missing");
  }
}

ANYPLACE_CASE("streams", "streams.destroy", "host functions of a destroyed stream run", Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  Signal ran;
  {
    const Stream stream = CALL(Stream(device));
    gate.hold(stream);
    CALL(stream.launch_host_func([ran] { ran.set(); }));
  }
  gate.open();
  ran.wait();
}

ANYPLACE_CASE("streams", "streams.destroy", "synchronising the device waits for destroyed streams too",
              Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  {
    const Stream stream = CALL(Stream(device));
    gate.hold(stream);
  }
  CHECK(!CALL(device.synchronize(5ms)));
  gate.open();
  CHECK(CALL(device.synchronize(1h)));
}

ANYPLACE_CASE("streams", "streams.destroy", "streams come and go by the thousand") {
  const Device device = run.device();
  for (int i = 0; i < 3000; ++i) const Stream stream = CALL(Stream(device));
  const Stream stream = CALL(Stream(device));
  CALL(stream.synchronize());
}

ANYPLACE_CASE("streams", "streams.destroy", "a process may end with work pending", Capability::host_functions) {
  const Device device = run.device();
  // Neither stream is ever destroyed.
  static Stream* stream = nullptr;
  static Buffer* buffer = nullptr;
  stream = new Stream(device);
  buffer = new Buffer(filled(*stream, 32 << 20, 1));
  for (int i = 0; i < 10; ++i) CALL(stream->memset8(*buffer, static_cast<std::uint8_t>(i)));
  CALL(stream->launch_host_func([] {}));
}

ANYPLACE_CASE("streams", "streams.destroy", "a process may end with handles in static storage") {
  static Stream stream;
  static Event event;
  static Buffer buffer;
  stream = CALL(Stream(run.device()));
  buffer = CALL(Buffer(stream, bytes));
  CALL(stream.memset8(buffer, 1));
  event = CALL(stream.record_event());
}

}  // namespace
}  // namespace anyplace::conformance::streams_state_cases
