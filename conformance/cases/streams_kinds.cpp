// SPDX-License-Identifier: Apache-2.0
//
// Waits for events between streams of every kind, on one device and between two; and which streams don't wait for each
// other.
#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

#include "support.h"

namespace anyplace::conformance::streams_kinds_cases {
namespace {

constexpr std::uint64_t bytes = 1 << 12;

enum class Kind { null, blocking, other, per_thread };

struct Pair {
  std::string label;
  Kind producer;
  Kind consumer;
};

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::null:
      return "the null stream";
    case Kind::blocking:
      return "a blocking stream";
    case Kind::per_thread:
      return "the thread's own stream";
    case Kind::other:
      break;
  }
  return "a stream that isn't blocking";
}

std::vector<Pair> all_pairs() {
  std::vector<Pair> pairs;
  for (const Kind producer : {Kind::null, Kind::blocking, Kind::other, Kind::per_thread}) {
    for (const Kind consumer : {Kind::null, Kind::blocking, Kind::other, Kind::per_thread}) {
      pairs.push_back(
          {std::string(name_of(consumer)) + " waits for an event of " + name_of(producer), producer, consumer});
    }
  }
  return pairs;
}

const std::vector<Pair> pairs = all_pairs();

/// A stream of that kind; streams that are made are kept in `made`.
StreamView stream_of(const Device& device, Kind kind, std::vector<Stream>& made) {
  switch (kind) {
    case Kind::null:
      return CALL(device.default_stream());
    case Kind::per_thread:
      return CALL(device.per_thread_stream());
    case Kind::blocking:
    case Kind::other:
      break;
  }
  made.push_back(CALL(Stream(device, {.blocking = kind == Kind::blocking})));
  return made.back();
}

void need_kind(const Device& device, Kind kind) {
  const bool is_there = kind == Kind::null || kind == Kind::other || device.has(Capability::blocking_streams);
  if (!is_there) skip(to_string(Capability::blocking_streams));
}

void check_wait(const Device& first, const Device& second, const Pair& pair) {
  need_kind(first, pair.producer);
  need_kind(second, pair.consumer);
  HostGate gate;
  std::vector<Stream> made;
  made.reserve(2);
  const StreamView producer = stream_of(first, pair.producer, made);
  const StreamView consumer = stream_of(second, pair.consumer, made);
  const Buffer source = filled(producer, bytes, 1);
  const Buffer destination = filled(consumer, bytes, 1);
  const Event event = CALL(Event(first));
  const Event done = CALL(Event(second));
  gate.hold(producer);
  CALL(producer.memset8(source, 2));
  CALL(event.record(producer));
  CALL(consumer.wait_event(event));
  CALL(consumer.memset8(destination, 2));
  CALL(done.record(consumer));
  CHECK_STAYS_FALSE(done.query());
  gate.open();
  CHECK_BYTES(read(consumer, destination), Bytes(bytes, 2));
  CHECK(event.query());
}

ANYPLACE_CASES(pairs, "kinds of streams", "streams.wait_event", "{}", Capability::host_functions) {
  check_wait(run.device(), run.device(), parameter);
}

ANYPLACE_CASES(pairs, "kinds of streams", "streams.wait_event", "of another device: {}", Capability::host_functions,
               second_device) {
  check_wait(run.second(), run.device(), parameter);
}

ANYPLACE_CASE("kinds of streams", "streams.default", "the null stream doesn't wait for another device's streams",
              Capability::host_functions, Capability::blocking_streams, second_device) {
  for (const bool swapped : {false, true}) {
    const Device here = swapped ? run.second() : run.device();
    const Device there = swapped ? run.device() : run.second();
    HostGate gate;
    const Stream blocking = CALL(Stream(there, {.blocking = true}));
    const Buffer buffer = filled(here.default_stream(), bytes, 1);
    gate.hold(blocking);
    CALL(here.default_stream().memset8(buffer, 2));
    CALL(here.default_stream().synchronize());
    gate.open();
    CALL(blocking.synchronize());
  }
}

ANYPLACE_CASE("kinds of streams", "streams.default", "a blocking stream doesn't wait for another device's null stream",
              Capability::host_functions, Capability::blocking_streams, second_device) {
  for (const bool swapped : {false, true}) {
    const Device here = swapped ? run.second() : run.device();
    const Device there = swapped ? run.device() : run.second();
    HostGate gate;
    const Stream blocking = CALL(Stream(here, {.blocking = true}));
    const Buffer buffer = filled(blocking, bytes, 1);
    gate.hold(there.default_stream());
    CALL(blocking.memset8(buffer, 2));
    CALL(blocking.synchronize());
    gate.open();
    CALL(there.synchronize());
  }
}

// ---- Copies of host memory in their stream's order

/// A thread that a gate may hold up. The gate is always opened before the thread is joined.
class BehindGate {
 public:
  BehindGate(HostGate& gate, std::function<void()> body) : gate_(gate), thread_(std::move(body)) {}
  BehindGate(const BehindGate&) = delete;  // it joins one thread
  BehindGate& operator=(const BehindGate&) = delete;
  ~BehindGate() {
    gate_.open();
    thread_.join();
  }

 private:
  HostGate& gate_;
  std::thread thread_;
};

struct Size {
  std::string label;
  std::uint64_t bytes;
};
const std::vector<Size> sizes = {
    {"1 byte", 1}, {"16 bytes", 16}, {"64 bytes", 64}, {"4 KiB", 4096}, {"1 MiB", 1 << 20}};

ANYPLACE_CASES(sizes, "kinds of streams", "memory.copies",
               "a copy of {} from ordinary memory doesn't write before what its stream waits for",
               Capability::host_functions, Capability::pinned_memory) {
  const Device device = run.device();
  HostGate gate;
  const Stream held = CALL(Stream(device));
  const Stream stream = CALL(Stream(device));
  const Stream beside = CALL(Stream(device));
  const Buffer buffer = filled(stream, parameter.bytes, 1);
  const HostBuffer seen = CALL(HostBuffer(device, parameter.bytes));
  const Bytes contents(parameter.bytes, 3);
  gate.hold(held);
  // Nothing of the stream runs, because it only waits.
  CALL(stream.wait_event(held.record_event()));
  {
    const BehindGate copying(gate, [&] { stream.copy(buffer, contents); });  // the call may block
    CHECK_STAYS_FALSE([&] {
      CALL(beside.copy({seen.data(), seen.size()}, buffer));
      CALL(beside.synchronize());
      return seen.data()[0] == std::byte{3};
    }());
  }
  CHECK_BYTES(read(stream, buffer), contents);
}

ANYPLACE_CASE("kinds of streams", "memory.copies", "pinned memory is read when the copy runs, from its middle too",
              Capability::host_functions, Capability::pinned_memory) {
  const Device device = run.device();
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{512}, std::uint64_t{60000}}) {
    HostGate gate;
    const Stream stream = CALL(Stream(device));
    const HostBuffer host = CALL(HostBuffer(device, 1 << 16));
    const std::uint64_t count = host.size() - offset < 4096 ? host.size() - offset : 4096;
    const Buffer buffer = filled(stream, count, 1);
    std::fill_n(host.data(), host.size(), std::byte{2});
    gate.hold(stream);
    CALL(stream.copy(buffer, {host.data() + offset, count}));
    std::fill_n(host.data(), host.size(), std::byte{3});
    gate.open();
    CHECK_BYTES(read(stream, buffer), Bytes(count, 3));
  }
}

ANYPLACE_CASE("kinds of streams", "memory.copies", "registered memory is read when the copy runs, from its middle too",
              Capability::host_functions, Capability::host_register) {
  const Device device = run.device();
  Bytes host(1 << 16);
  const HostRegistration registration = CALL(HostRegistration(device, host));
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{512}, std::size_t{60000}}) {
    HostGate gate;
    const Stream stream = CALL(Stream(device));
    const Buffer buffer = filled(stream, 4096, 1);
    std::fill(host.begin(), host.end(), std::uint8_t{2});
    gate.hold(stream);
    CALL(stream.copy(buffer, {host.data() + offset, 4096}));
    std::fill(host.begin(), host.end(), std::uint8_t{3});
    gate.open();
    CHECK_BYTES(read(stream, buffer), Bytes(4096, 3));
  }
}

// ---- Many host functions that block

ANYPLACE_CASE("kinds of streams", "streams.host_functions",
              "as many blocked host functions as there may be hold up no other work", Capability::host_functions) {
  const Device device = run.device();
  const auto count = static_cast<std::size_t>(std::min(CALL(device.properties()).compute_units, 32u)) + 16;
  Signal go;
  std::vector<Stream> blocked;
  for (std::size_t i = 0; i < count; ++i) blocked.push_back(CALL(Stream(device)));
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  for (const Stream& each : blocked) CALL(each.launch_host_func([go] { go.wait(); }));
  CALL(stream.memset8(buffer, 2));
  CALL(stream.synchronize());
  CHECK_BYTES(read(stream, buffer), Bytes(bytes, 2));
  go.set();
  for (const Stream& each : blocked) CALL(each.synchronize());
}

}  // namespace
}  // namespace anyplace::conformance::streams_kinds_cases
