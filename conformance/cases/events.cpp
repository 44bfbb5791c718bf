// SPDX-License-Identifier: Apache-2.0
// Events: options, recording, events that were never recorded, and destroying them.
#include <thread>

#include "support.h"

namespace anyplace::conformance::events_cases {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t bytes = 1 << 16;

// ---- Options

ANYPLACE_CASE("events", "events.options", "interprocess with timing is invalid_argument") {
  CHECK_ERROR(invalid_argument, Event(run.device(), {.timing = true, .interprocess = true}));
}

ANYPLACE_CASE("events", "events.options", "an event that sleeps while it is waited for works like any other") {
  const Stream stream = CALL(Stream(run.device()));
  const Event event = CALL(Event(run.device(), {.blocking_sync = true}));
  const Buffer buffer = CALL(Buffer(stream, 8 << 20));
  CALL(stream.memset8(buffer, 3));
  CALL(event.record(stream));
  CALL(event.synchronize());
  CHECK(event.query());
  CHECK_BYTES(read(buffer), Bytes(8 << 20, 3));
}

ANYPLACE_CASE("events", "events.options", "a timed event that sleeps works like any other", Capability::timed_events) {
  const Stream stream = CALL(Stream(run.device()));
  const Event event = CALL(Event(run.device(), {.timing = true, .blocking_sync = true}));
  CALL(event.record(stream));
  CALL(event.synchronize());
  CHECK(CALL(elapsed_time(event, event)) == 0);
}

ANYPLACE_CASE("events", "events.options", "timing is off by default", Capability::timed_events) {
  const Stream stream = CALL(Stream(run.device()));
  const Event event = CALL(stream.record_event());
  CALL(event.synchronize());
  CHECK_ERROR(timing_disabled, elapsed_time(event, event));
}

ANYPLACE_CASE("events", "events.options", "two events have different native handles", Capability::native_handles) {
  const Event first = CALL(Event(run.device()));
  const Event second = CALL(Event(run.device()));
  CHECK(CALL(first.native_handle()) != CALL(second.native_handle()));
}

// ---- Record

ANYPLACE_CASE("events", "events.record", "an event is incomplete until the work before it is done",
              Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Event event = CALL(Event(run.device()));
  gate.hold(stream);
  CALL(event.record(stream));
  CHECK_STAYS_FALSE(event.query());
  gate.open();
  CALL(event.synchronize());
  CHECK(event.query());
}

ANYPLACE_CASE("events", "events.record", "an event doesn't wait for work after it", Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Event event = CALL(Event(run.device()));
  CALL(event.record(stream));
  gate.hold(stream);
  CHECK(CALL(event.synchronize(1h)));
  CHECK(event.query());
  CHECK(!stream.query());
  gate.open();
}

ANYPLACE_CASE("events", "events.record", "synchronize waits for the work before the record") {
  const Stream stream = CALL(Stream(run.device()));
  const Event event = CALL(Event(run.device()));
  const Buffer buffer = CALL(Buffer(stream, 8 << 20));
  Bytes host(8 << 20);
  for (int round = 1; round <= 8; ++round) {
    CALL(stream.memset8(buffer, static_cast<std::uint8_t>(round)));
    CALL(stream.copy(host, buffer));
    CALL(event.record(stream));
    CALL(event.synchronize());
    CHECK_BYTES(host, Bytes(8 << 20, static_cast<std::uint8_t>(round)));
  }
}

ANYPLACE_CASE("events", "events.record", "synchronize doesn't return while the work before it is held back",
              Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  gate.hold(stream);
  const Event event = CALL(stream.record_event());
  Signal returned;
  std::thread waiter([&] {
    event.synchronize();
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
  CHECK(event.query());
}

ANYPLACE_CASE("events", "events.record", "synchronize with a timeout says when time ran out",
              Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  gate.hold(stream);
  const Event event = CALL(stream.record_event());
  CHECK(!CALL(event.synchronize(0ns)));
  CHECK(!CALL(event.synchronize(-1ns)));
  const auto before = std::chrono::steady_clock::now();
  CHECK(!CALL(event.synchronize(20ms)));
  CHECK(std::chrono::steady_clock::now() - before >= 20ms);
  gate.open();
  CHECK(CALL(event.synchronize(1h)));
}

ANYPLACE_CASE("events", "events.record", "recording again makes a complete event incomplete",
              Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Event event = CALL(stream.record_event());
  CALL(event.synchronize());
  gate.hold(stream);
  CALL(event.record(stream));
  CHECK_STAYS_FALSE(event.query());
  gate.open();
  CALL(event.synchronize());
}

ANYPLACE_CASE("events", "events.record", "recording again elsewhere forgets the earlier record",
              Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream held = CALL(Stream(device));
  const Stream free = CALL(Stream(device));
  const Event event = CALL(Event(device));
  gate.hold(held);
  CALL(event.record(held));
  CHECK(!event.query());
  CALL(event.record(free));
  CHECK(CALL(event.synchronize(1h)));
  CHECK(event.query());
  CHECK(!held.query());
  gate.open();
}

ANYPLACE_CASE("events", "events.record", "an event may be recorded thousands of times") {
  const Stream stream = CALL(Stream(run.device()));
  const Event event = CALL(Event(run.device()));
  for (int i = 0; i < 5000; ++i) CALL(event.record(stream));
  CALL(event.synchronize());
  CHECK(stream.query());
}

ANYPLACE_CASE("events", "events.record", "many events in one stream complete in order", Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = filled(stream, 1 << 20, 0);
  std::vector<Event> events;
  gate.hold(stream);
  for (int i = 0; i < 100; ++i) {
    CALL(stream.memset8(buffer, static_cast<std::uint8_t>(i)));
    events.push_back(CALL(stream.record_event()));
  }
  gate.open();
  for (std::size_t last = 0; last < events.size(); ++last) {
    CALL(events[last].synchronize());
    for (std::size_t i = 0; i <= last; ++i) CHECK(events[i].query());
  }
}

ANYPLACE_CASE("events", "events.record", "an event recorded in an empty stream is complete at once or soon") {
  const Stream stream = CALL(Stream(run.device()));
  const Event event = CALL(stream.record_event());
  step(__FILE__, __LINE__, "polling event.query() until it is true");
  while (!event.query()) std::this_thread::yield();
  CHECK(event.query());
}

ANYPLACE_CASE("events", "events.record", "the streams of one device share events") {
  const Device device = run.device();
  const Stream first = CALL(Stream(device));
  const Stream second = CALL(Stream(device));
  const Event event = CALL(Event(device));
  for (int i = 0; i < 10; ++i) {
    CALL(event.record(i % 2 == 0 ? first : second));
    CALL(event.synchronize());
  }
  CALL(event.record(device.default_stream()));
  CALL(event.synchronize());
}

// ---- Never recorded

ANYPLACE_CASE("events", "events.unrecorded", "query of an event that was never recorded is true") {
  CHECK(CALL(Event(run.device())).query());
}

ANYPLACE_CASE("events", "events.unrecorded", "synchronizing an event that was never recorded returns at once") {
  const Event event = CALL(Event(run.device()));
  CALL(event.synchronize());
  CHECK(CALL(event.synchronize(0ns)));
}

ANYPLACE_CASE("events", "events.unrecorded", "a stream doesn't wait for an event that was never recorded") {
  const Stream stream = CALL(Stream(run.device()));
  const Event event = CALL(Event(run.device()));
  const Buffer buffer = filled(stream, bytes, 1);
  CALL(stream.wait_event(event));
  CALL(stream.memset8(buffer, 2));
  CHECK_BYTES(read(stream, buffer), Bytes(bytes, 2));
}

ANYPLACE_CASE("events", "events.unrecorded",
              "another device's stream doesn't wait for an event that was never recorded", second_device) {
  const Stream stream = CALL(Stream(run.second()));
  const Event event = CALL(Event(run.device()));
  CALL(stream.wait_event(event));
  CALL(stream.synchronize());
}

ANYPLACE_CASE("events", "events.unrecorded",
              "another backend's stream doesn't wait for an event that was never recorded", other_backend) {
  const Stream stream = CALL(Stream(run.other()));
  const Event event = CALL(Event(run.device()));
  CALL(stream.wait_event(event));
  CALL(stream.synchronize());
}

// ---- Destroy

ANYPLACE_CASE("events", "events.destroy", "a stream that waits for an event still waits when the event was destroyed",
              Capability::host_functions) {
  Handover hand(run.device());
  hand.hold_and_fill();
  {
    const Event event = CALL(hand.producer.record_event());
    CALL(hand.consumer.wait_event(event));
  }
  hand.check_copy_waits();
}

ANYPLACE_CASE("events", "events.destroy", "destroying an event whose record is pending is safe",
              Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  gate.hold(stream);
  for (int i = 0; i < 100; ++i) static_cast<void>(CALL(stream.record_event()));
  gate.open();
  CALL(stream.synchronize());
}

ANYPLACE_CASE("events", "events.destroy", "an event outlives its stream", Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  Event event;
  {
    const Stream stream = CALL(Stream(device));
    gate.hold(stream);
    event = CALL(stream.record_event());
  }
  CHECK(!event.query());
  gate.open();
  CALL(event.synchronize());
  CHECK(event.query());
}

ANYPLACE_CASE("events", "events.destroy", "events come and go by the thousand") {
  const Stream stream = CALL(Stream(run.device()));
  for (int i = 0; i < 5000; ++i) CALL(stream.wait_event(stream.record_event()));
  CALL(stream.synchronize());
}

ANYPLACE_CASE("events", "events.destroy", "destroying an event while another thread waits for it is safe") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  for (int round = 0; round < 30; ++round) {
    auto event = std::make_unique<Event>(CALL(stream.record_event()));
    const EventView view = *event;
    run_threads(2, [&](int thread) {
      if (thread == 0) {
        event.reset();
        return;
      }
      try {
        CALL(view.synchronize());
      } catch (const Error& error) {
        CHECK_EQUAL(error.code(), ErrorCode::invalid_handle);
      }
    });
  }
}

ANYPLACE_CASE("events", "events.native",
              "a record of a wrapped event is seen through the wrapper and through the vendor's event",
              Capability::event_from_native, Capability::native_handles, Capability::host_functions) {
  Handover over(run.device());
  const Event event = CALL(Event(run.device()));
  const Event wrapped = CALL(Event::from_native(run.device(), event.native_handle()));
  CHECK(CALL(wrapped.native_handle()) == CALL(event.native_handle()));
  CHECK(CALL(wrapped.query()));
  over.hold_and_fill();
  CALL(event.record(over.producer));
  CHECK(!CALL(wrapped.query()));
  CALL(over.consumer.wait_event(wrapped));
  over.check_copy_waits();
  CALL(wrapped.synchronize());
  CHECK(CALL(event.query()));
}

ANYPLACE_CASE("events", "events.native", "destroying a wrapper leaves the vendor's event as it is",
              Capability::event_from_native, Capability::native_handles) {
  const Stream stream = CALL(Stream(run.device()));
  const Event event = CALL(Event(run.device()));
  const std::uint64_t native = CALL(event.native_handle());
  for (int i = 0; i < 3; ++i) {
    const Event wrapped = CALL(Event::from_native(run.device(), native));
    CALL(wrapped.record(stream));
    CALL(wrapped.synchronize());
  }
  CALL(event.record(stream));
  CALL(event.synchronize());
  CHECK(CALL(event.query()));
}

ANYPLACE_CASE("events", "events.native",
              "wrapping an event is refused for a null handle, and on a device that can't wrap events") {
  if (run.device().has(Capability::event_from_native)) {
    CHECK_ERROR(invalid_argument, Event::from_native(run.device(), 0));
    CHECK_ERROR(invalid_argument, Event::from_native(run.device(), 1, {.timing = true, .interprocess = true}));
  } else {
    CHECK_ERROR(unsupported, Event::from_native(run.device(), 1));
  }
}

}  // namespace
}  // namespace anyplace::conformance::events_cases
