// SPDX-License-Identifier: Apache-2.0
// Waits between streams: for events, for streams, on one device, between devices and between backends.
#include <thread>

#include "support.h"

namespace anyplace::conformance::streams_wait_cases {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t bytes = 1 << 16;

// ---- record_event

ANYPLACE_CASE("streams", "streams.record", "record_event makes an event of the stream's device") {
  const Stream stream = CALL(Stream(run.device()));
  const Event event = CALL(stream.record_event());
  CHECK(static_cast<bool>(event));
  CHECK_EQUAL(CALL(event.device()), run.device());
  CALL(event.synchronize());
  CHECK(event.query());
}

ANYPLACE_CASE("streams", "streams.record", "record_event records the event that it is given and returns it") {
  const Stream stream = CALL(Stream(run.device()));
  const Event event = CALL(Event(run.device()));
  CHECK_EQUAL(CALL(stream.record_event(event)), event.view());
  CALL(event.synchronize());
}

ANYPLACE_CASE("streams", "streams.record", "record_event makes a timed event if asked", Capability::timed_events) {
  const Stream stream = CALL(Stream(run.device()));
  const Event start = CALL(stream.record_event({.timing = true}));
  const Event end = CALL(stream.record_event({.timing = true}));
  CALL(stream.synchronize());
  CHECK(CALL(elapsed_time(start, end)) >= 0);
}

ANYPLACE_CASE("streams", "streams.record", "each record_event without an event makes another one") {
  const Stream stream = CALL(Stream(run.device()));
  const Event first = CALL(stream.record_event());
  const Event second = CALL(stream.record_event());
  CHECK(!(first == second));
}

// ---- wait_event

ANYPLACE_CASE("streams", "streams.wait_event", "later work waits for the event", Capability::host_functions) {
  Handover hand(run.device());
  hand.hold_and_fill();
  const Event event = CALL(Event(run.device()));
  CALL(event.record(hand.producer));
  CALL(hand.consumer.wait_event(event));
  hand.check_copy_waits();
  CHECK(event.query());
}

ANYPLACE_CASE("streams", "streams.wait_event", "earlier work doesn't wait for the event", Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream producer = CALL(Stream(device));
  const Stream consumer = CALL(Stream(device));
  const Buffer buffer = filled(consumer, bytes, 1);
  const Event before = CALL(Event(device));
  const Event event = CALL(Event(device));
  gate.hold(producer);
  CALL(event.record(producer));
  CALL(consumer.memset8(buffer, 2));
  CALL(before.record(consumer));
  CALL(consumer.wait_event(event));
  CHECK(CALL(before.synchronize(1h)));
  CHECK(!event.query());
  gate.open();
  CALL(consumer.synchronize());
  CHECK_BYTES(read(buffer), Bytes(bytes, 2));
}

ANYPLACE_CASE("streams", "streams.wait_event", "a wait doesn't cover what was submitted after the record",
              Capability::host_functions) {
  Handover hand(run.device());
  const Event event = CALL(Event(run.device()));
  CALL(event.record(hand.producer));
  hand.gate.hold(hand.producer);
  CALL(hand.consumer.wait_event(event));
  hand.check_fill_goes_on();
}

ANYPLACE_CASE("streams", "streams.wait_event", "waiting for an event never blocks the host",
              Capability::host_functions) {
  Handover hand(run.device());
  const Event event = CALL(Event(run.device()));
  hand.gate.hold(hand.producer);
  CALL(event.record(hand.producer));
  for (int i = 0; i < 100; ++i) CALL(hand.consumer.wait_event(event));
  CHECK(!hand.consumer.query());
  hand.gate.open();
  CALL(hand.consumer.synchronize());
}

ANYPLACE_CASE("streams", "streams.wait_event", "a re-record on a free stream doesn't release an earlier wait",
              Capability::host_functions) {
  Handover hand(run.device());
  const Stream free = CALL(Stream(run.device()));
  const Event event = CALL(Event(run.device()));
  hand.hold_and_fill();
  CALL(event.record(hand.producer));
  CALL(hand.consumer.wait_event(event));
  CALL(event.record(free));
  CALL(event.synchronize());
  hand.check_copy_waits();
}

ANYPLACE_CASE("streams", "streams.wait_event", "a re-record on a held stream doesn't hold back an earlier wait",
              Capability::host_functions) {
  Handover hand(run.device());
  const Stream free = CALL(Stream(run.device()));
  const Event event = CALL(Event(run.device()));
  CALL(event.record(free));
  CALL(hand.consumer.wait_event(event));
  hand.gate.hold(hand.producer);
  CALL(event.record(hand.producer));
  hand.check_fill_goes_on();
}

ANYPLACE_CASE("streams", "streams.wait_event", "a wait after a re-record takes the new record",
              Capability::host_functions) {
  Handover hand(run.device());
  const Stream free = CALL(Stream(run.device()));
  const Event event = CALL(Event(run.device()));
  hand.gate.hold(hand.producer);
  CALL(event.record(hand.producer));
  CALL(event.record(free));
  CALL(hand.consumer.wait_event(event));
  hand.check_fill_goes_on();
}

ANYPLACE_CASE("streams", "streams.wait_event", "an event that is recorded after the wait isn't waited for",
              Capability::host_functions) {
  Handover hand(run.device());
  const Event event = CALL(Event(run.device()));
  CALL(hand.consumer.wait_event(event));
  hand.gate.hold(hand.producer);
  CALL(event.record(hand.producer));
  hand.check_fill_goes_on();
}

ANYPLACE_CASE("streams", "streams.wait_event", "several streams wait for one event", Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream producer = CALL(Stream(device));
  std::vector<Stream> consumers;
  std::vector<Buffer> destinations;
  const Buffer source = filled(producer, bytes, 1);
  for (int i = 0; i < 4; ++i) {
    consumers.push_back(CALL(Stream(device)));
    destinations.push_back(filled(consumers.back(), bytes, 0));
  }
  gate.hold(producer);
  CALL(producer.memset8(source, 2));
  const Event event = CALL(producer.record_event());
  for (std::size_t i = 0; i < consumers.size(); ++i) {
    CALL(consumers[i].wait_event(event));
    CALL(consumers[i].copy(destinations[i], source));
  }
  for (const Stream& consumer : consumers) CHECK(!consumer.query());
  CHECK_STAYS_FALSE(consumers.back().query());
  gate.open();
  for (std::size_t i = 0; i < consumers.size(); ++i) CHECK_BYTES(read(consumers[i], destinations[i]), Bytes(bytes, 2));
}

ANYPLACE_CASE("streams", "streams.wait_event", "a wait passes on from stream to stream", Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream first = CALL(Stream(device));
  const Stream second = CALL(Stream(device));
  const Stream third = CALL(Stream(device));
  const Buffer a = filled(first, bytes, 1);
  const Buffer b = filled(second, bytes, 0);
  const Buffer c = filled(third, bytes, 0);
  gate.hold(first);
  CALL(first.memset8(a, 2));
  CALL(second.wait_event(first.record_event()));
  CALL(second.copy(b, a));
  CALL(third.wait_event(second.record_event()));
  CALL(third.copy(c, b));
  CHECK_STAYS_FALSE(third.query());
  gate.open();
  CHECK_BYTES(read(third, c), Bytes(bytes, 2));
}

ANYPLACE_CASE("streams", "streams.wait_event", "a stream may wait for its own event") {
  const Stream stream = CALL(Stream(run.device()));
  const Event event = CALL(stream.record_event());
  CALL(stream.wait_event(event));
  CALL(stream.synchronize());
}

ANYPLACE_CASE("streams", "streams.wait_event", "without a gate a wait still orders big work") {
  const Device device = run.device();
  const Stream producer = CALL(Stream(device));
  const Stream consumer = CALL(Stream(device));
  const Bytes contents = pattern(16 << 20);
  const Buffer source = upload(producer, contents);
  const Buffer middle = filled(producer, contents.size(), 0);
  const Buffer destination = filled(consumer, contents.size(), 0);
  const Event event = CALL(Event(device));
  for (int round = 0; round < 4; ++round) {
    CALL(producer.wait_stream(consumer));
    CALL(producer.memset8(middle, 0));
    CALL(producer.copy(middle, source));
    CALL(event.record(producer));
    CALL(consumer.wait_event(event));
    CALL(consumer.copy(destination, middle));
    CHECK_BYTES(read(consumer, destination), contents);
    CALL(consumer.memset8(destination, 0));
  }
}

ANYPLACE_CASE("streams", "streams.wait_event", "an event of another device is waited for", Capability::host_functions,
              second_device) {
  Handover hand(run.second(), run.device());
  hand.gate.hold(hand.producer);
  const Event event = CALL(hand.producer.record_event());
  CALL(hand.consumer.wait_event(event));
  hand.check_fill_waits();
  CHECK(event.query());
}

ANYPLACE_CASE("streams", "streams.wait_event", "an event of another backend is waited for", other_backend) {
  if (!run.other().has(Capability::host_functions)) skip("host functions of the other backend");
  Handover hand(run.other(), run.device());
  hand.gate.hold(hand.producer);
  const Event event = CALL(hand.producer.record_event());
  CALL(hand.consumer.wait_event(event));
  hand.check_fill_waits();
  CHECK(event.query());
}

ANYPLACE_CASE("streams", "streams.wait_event", "another backend waits for an event of this one",
              Capability::host_functions, other_backend) {
  Handover hand(run.device(), run.other());
  hand.gate.hold(hand.producer);
  const Event event = CALL(hand.producer.record_event());
  CALL(hand.consumer.wait_event(event));
  hand.check_fill_waits();
  CHECK(event.query());
}

// ---- wait_stream

ANYPLACE_CASE("streams", "streams.wait_stream", "later work waits for the other stream's work so far",
              Capability::host_functions) {
  Handover hand(run.device());
  hand.hold_and_fill();
  CALL(hand.consumer.wait_stream(hand.producer));
  hand.check_copy_waits();
}

ANYPLACE_CASE("streams", "streams.wait_stream", "work submitted to the other stream later isn't waited for",
              Capability::host_functions) {
  Handover hand(run.device());
  CALL(hand.consumer.wait_stream(hand.producer));
  hand.gate.hold(hand.producer);
  hand.check_fill_goes_on();
}

ANYPLACE_CASE("streams", "streams.wait_stream", "waiting for the stream itself or an idle one holds nothing back") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Stream idle = CALL(Stream(device));
  CALL(stream.wait_stream(stream));
  CALL(stream.wait_stream(idle));
  CALL(stream.synchronize());
  CHECK(stream.query());
}

ANYPLACE_CASE("streams", "streams.wait_stream", "the stream that is waited for may be destroyed meanwhile",
              Capability::host_functions) {
  Handover hand(run.device());
  hand.source = filled(hand.consumer, Handover::bytes, 1);
  hand.hold_and_fill();
  CALL(hand.consumer.wait_stream(hand.producer));
  hand.producer = Stream();
  hand.check_copy_waits();
}

ANYPLACE_CASE("streams", "streams.wait_stream", "the default stream can wait and be waited for",
              Capability::host_functions) {
  Handover hand(run.device());
  const StreamView null = CALL(run.device().default_stream());
  hand.gate.hold(hand.producer);
  CALL(null.wait_stream(hand.producer));
  CALL(hand.consumer.wait_stream(null));
  hand.check_fill_waits();
  CHECK(hand.producer.query());
}

ANYPLACE_CASE("streams", "streams.wait_stream", "a stream waits for a stream of another device",
              Capability::host_functions, second_device) {
  Handover hand(run.second(), run.device());
  hand.source.record_stream(hand.consumer);
  hand.hold_and_fill();
  CALL(hand.consumer.wait_stream(hand.producer));
  if (run.device().has(Capability::peer_copy)) {
    hand.check_copy_waits();
  } else {
    hand.check_fill_waits();
  }
}

struct Direction {
  std::string label;
  bool from_other;
};

const std::vector<Direction> directions = {{"for another backend", true}, {"of another backend for this one", false}};

ANYPLACE_CASES(directions, "streams", "streams.wait_stream", "a wait {} holds back, and is released", other_backend) {
  const Device from = parameter.from_other ? run.other() : run.device();
  const Device to = parameter.from_other ? run.device() : run.other();
  if (!from.has(Capability::host_functions)) skip("host functions of the stream that is waited for");
  HostGate gate;
  const Stream producer = CALL(Stream(from));
  const Stream consumer = CALL(Stream(to));
  const Buffer buffer = filled(consumer, bytes, 1);
  gate.hold(producer);
  CALL(consumer.wait_stream(producer));
  CALL(consumer.memset8(buffer, 2));
  const Event event = CALL(consumer.record_event());
  CHECK_STAYS_FALSE(consumer.query() || event.query());
  CHECK(!CALL(consumer.synchronize(1ms)));
  gate.open();
  CALL(consumer.synchronize());
  CHECK(event.query());
  CHECK_BYTES(read(buffer), Bytes(bytes, 2));
}

ANYPLACE_CASES(directions, "streams", "streams.wait_stream", "after a wait {} order is kept", other_backend) {
  const Device from = parameter.from_other ? run.other() : run.device();
  const Device to = parameter.from_other ? run.device() : run.other();
  const Stream producer = CALL(Stream(from));
  const Stream consumer = CALL(Stream(to));
  const Buffer source = filled(producer, 1 << 20, 0);
  const Buffer buffer = filled(consumer, 4096, 0);
  for (int round = 1; round <= 40; ++round) {
    CALL(producer.memset8(source, static_cast<std::uint8_t>(round)));
    CALL(consumer.wait_stream(producer));
    CALL(consumer.memset8(buffer, static_cast<std::uint8_t>(round)));
    CALL(consumer.copy(buffer.sub(2048, 1024), buffer.sub(0, 1024)));
  }
  CALL(consumer.synchronize());
  CHECK(producer.query());
  CHECK_BYTES(read(buffer), Bytes(4096, 40));
}

ANYPLACE_CASE("streams", "streams.wait_stream", "two backends wait for each other in turn", other_backend) {
  const Stream here = CALL(Stream(run.device()));
  const Stream there = CALL(Stream(run.other()));
  const Buffer near = filled(here, bytes, 0);
  const Buffer far = filled(there, bytes, 0);
  near.record_stream(there);
  far.record_stream(here);
  for (int round = 1; round <= 20; ++round) {
    CALL(here.wait_stream(there));
    CALL(here.memset8(near, static_cast<std::uint8_t>(round)));
    CALL(here.copy(far, near));
    CALL(there.wait_stream(here));
    CALL(there.copy(near, far));
  }
  CALL(there.synchronize());
  CHECK_BYTES(read(far), Bytes(bytes, 20));
}

}  // namespace
}  // namespace anyplace::conformance::streams_wait_cases
