// SPDX-License-Identifier: Apache-2.0
//
// Elapsed time. The device's figure is compared with two intervals of the host's clock, one inside it and one around
// it, so nothing depends on speed. Where time is virtual (ANYPLACE_FEATURE_VIRTUAL_TIME) the device's own clock takes
// the place of the host's, which goes on by itself.
#include <thread>

#include "second_process.h"
#include "support.h"
#include "table_backend.h"

namespace anyplace::conformance::events_time_cases {
namespace {

using HostClock = std::chrono::steady_clock;

double milliseconds(HostClock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

/// The clocks of host and device may differ by this part of the time, and a timestamp may be this coarse.
constexpr double drift = 0.02;
constexpr double grain = 1.0;  // milliseconds

/// Asks the table in a process of its own, because a process loads a plugin once.
bool has_virtual_time(const Run& run) {
  Second second([&](const Talk& talk) {
    const TableBackend backend(run);
    const bool is_virtual = (backend.properties(backend.device()).features & ANYPLACE_FEATURE_VIRTUAL_TIME) != 0;
    talk.send(std::vector<std::byte>(is_virtual ? 1 : 0));
  });
  const bool is_virtual = !second.talk().receive().empty();
  second.must_end_well();
  return is_virtual;
}

/// The clock that the device's times are compared with.
class ComparedClock {
 public:
  ComparedClock(const Device& device, bool is_virtual) : device_(device), is_virtual_(is_virtual) {}
  HostClock::duration now() const {
    return is_virtual_ ? std::chrono::nanoseconds(device_.clock().device_ns) : HostClock::now().time_since_epoch();
  }
  /// So long that a wrong unit shows, however coarse timestamps are. In virtual time it passes by calls.
  HostClock::duration long_enough() const { return std::chrono::milliseconds(is_virtual_ ? 3 : 60); }

 private:
  Device device_;
  bool is_virtual_;
};

ANYPLACE_CASE("elapsed time", "events.elapsed", "it is what the host's clock says, in milliseconds",
              Capability::timed_events, Capability::host_functions) {
  const bool is_virtual = has_virtual_time(run);
  const ComparedClock clock(run.device(), is_virtual);
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Event start = CALL(Event(run.device(), {.timing = true}));
  const Event end = CALL(Event(run.device(), {.timing = true}));
  const auto before = clock.now();
  CALL(start.record(stream));
  gate.hold(stream);
  CALL(end.record(stream));
  CALL(start.synchronize());
  const auto started = clock.now();
  step(__FILE__, __LINE__, "letting time pass");
  while (clock.now() - started < clock.long_enough()) CHECK(!end.query());
  const auto opened = clock.now();
  gate.open();
  CALL(end.synchronize());
  const auto after = clock.now();
  const double elapsed = CALL(elapsed_time(start, end));
  const double coarse = is_virtual ? 0.1 : grain;
  CHECK(elapsed >= milliseconds(opened - started) * (1 - drift) - coarse);
  CHECK(elapsed <= milliseconds(after - before) * (1 + drift) + coarse);
}

ANYPLACE_CASE("elapsed time", "events.elapsed", "it grows along a stream", Capability::timed_events) {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = CALL(Buffer(stream, 1 << 20));
  std::vector<Event> events;
  for (int i = 0; i < 20; ++i) {
    events.push_back(CALL(stream.record_event({.timing = true})));
    CALL(stream.memset8(buffer, static_cast<std::uint8_t>(i)));
  }
  CALL(stream.synchronize());
  for (std::size_t i = 1; i < events.size(); ++i) CHECK(CALL(elapsed_time(events[i - 1], events[i])) >= 0);
  CHECK(CALL(elapsed_time(events.front(), events.back())) >= CALL(elapsed_time(events[5], events[10])));
}

ANYPLACE_CASE("elapsed time", "events.elapsed", "the parts add up to the whole", Capability::timed_events) {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = CALL(Buffer(stream, 8 << 20));
  std::vector<Event> events;
  for (int i = 0; i < 3; ++i) {
    events.push_back(CALL(stream.record_event({.timing = true})));
    CALL(stream.memset8(buffer, static_cast<std::uint8_t>(i)));
  }
  CALL(stream.synchronize());
  const double parts = CALL(elapsed_time(events[0], events[1])) + CALL(elapsed_time(events[1], events[2]));
  const double whole = CALL(elapsed_time(events[0], events[2]));
  CHECK(parts <= whole + 0.01 + whole * 1e-3);
  CHECK(parts >= whole - 0.01 - whole * 1e-3);
}

ANYPLACE_CASE("elapsed time", "events.elapsed", "it is negative when the end came first", Capability::timed_events,
              Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Event first = CALL(stream.record_event({.timing = true}));
  gate.hold(stream);
  const Event second = CALL(stream.record_event({.timing = true}));
  CALL(first.synchronize());
  const auto began = HostClock::now();
  while (HostClock::now() - began < std::chrono::milliseconds(5)) std::this_thread::yield();
  gate.open();
  CALL(second.synchronize());
  const double forwards = CALL(elapsed_time(first, second));
  CHECK(forwards > 0);
  CHECK_EQUAL(CALL(elapsed_time(second, first)), -forwards);
}

ANYPLACE_CASE("elapsed time", "events.elapsed", "from an event to itself it is 0", Capability::timed_events) {
  const Stream stream = CALL(Stream(run.device()));
  const Event event = CALL(stream.record_event({.timing = true}));
  CALL(event.synchronize());
  CHECK_EQUAL(CALL(elapsed_time(event, event)), 0.0);
}

ANYPLACE_CASE("elapsed time", "events.elapsed", "it is the same when it is asked again", Capability::timed_events) {
  const Stream stream = CALL(Stream(run.device()));
  const Event start = CALL(stream.record_event({.timing = true}));
  const Event end = CALL(stream.record_event({.timing = true}));
  CALL(stream.synchronize());
  CHECK_EQUAL(CALL(elapsed_time(start, end)), CALL(elapsed_time(start, end)));
}

ANYPLACE_CASE("elapsed time", "events.elapsed", "recording again measures from the new record",
              Capability::timed_events, Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Event start = CALL(stream.record_event({.timing = true}));
  CALL(start.synchronize());
  gate.hold(stream);
  const auto began = HostClock::now();
  while (HostClock::now() - began < std::chrono::milliseconds(40)) std::this_thread::yield();
  gate.open();
  CALL(stream.synchronize());
  const auto before = HostClock::now();
  CALL(start.record(stream));
  const Event end = CALL(stream.record_event({.timing = true}));
  CALL(end.synchronize());
  const auto after = HostClock::now();
  CHECK(CALL(elapsed_time(start, end)) <= milliseconds(after - before) * (1 + drift) + grain);
}

ANYPLACE_CASE("elapsed time", "events.elapsed", "it is measured across streams of one device",
              Capability::timed_events) {
  const Device device = run.device();
  const Stream first = CALL(Stream(device));
  const Stream second = CALL(Stream(device));
  const Event start = CALL(first.record_event({.timing = true}));
  CALL(second.wait_event(start));
  const Event end = CALL(second.record_event({.timing = true}));
  CALL(end.synchronize());
  CHECK(CALL(elapsed_time(start, end)) >= -grain);
}

ANYPLACE_CASE("elapsed time", "events.elapsed", "without timing it is timing_disabled", Capability::timed_events) {
  const Stream stream = CALL(Stream(run.device()));
  const Event timed = CALL(stream.record_event({.timing = true}));
  const Event untimed = CALL(stream.record_event());
  CALL(stream.synchronize());
  CHECK_ERROR(timing_disabled, elapsed_time(timed, untimed));
  CHECK_ERROR(timing_disabled, elapsed_time(untimed, timed));
}

ANYPLACE_CASE("elapsed time", "events.elapsed", "with an event that was never recorded it is not_recorded",
              Capability::timed_events) {
  const Stream stream = CALL(Stream(run.device()));
  const Event recorded = CALL(stream.record_event({.timing = true}));
  const Event other = CALL(Event(run.device(), {.timing = true}));
  CALL(stream.synchronize());
  CHECK_ERROR(not_recorded, elapsed_time(recorded, other));
  CHECK_ERROR(not_recorded, elapsed_time(other, recorded));
}

ANYPLACE_CASE("elapsed time", "events.elapsed",
              "a plugin, too, says of an event that was never recorded that it wasn't", Capability::timed_events) {
  const TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_event recorded = backend.event(ANYPLACE_EVENT_TIMING);
  const anyplace_event other = backend.event(ANYPLACE_EVENT_TIMING);
  MUST(backend, event_record, recorded, stream);
  backend.synchronize(stream);
  double milliseconds = 0;
  CHECK_EQUAL(ENTRY(backend, event_elapsed, recorded, other, &milliseconds), ANYPLACE_STATUS_NOT_RECORDED);
  CHECK_EQUAL(ENTRY(backend, event_elapsed, other, recorded, &milliseconds), ANYPLACE_STATUS_NOT_RECORDED);
}

ANYPLACE_CASE("elapsed time", "events.elapsed", "what another library recorded by the native handle is measured",
              Capability::timed_events, Capability::event_from_native, Capability::native_handles) {
  const Stream stream = CALL(Stream(run.device()));
  const Event start = CALL(Event(run.device(), {.timing = true}));
  const Event end = CALL(Event(run.device(), {.timing = true}));
  for (const Event* event : {&start, &end}) {
    const Event of_another = CALL(Event::from_native(run.device(), event->native_handle(), {.timing = true}));
    CALL(of_another.record(stream));
  }
  CALL(stream.synchronize());
  CHECK(CALL(elapsed_time(start, end)) >= 0);
  CHECK(CALL(end.timestamp_ns()) >= CALL(start.timestamp_ns()));
}

ANYPLACE_CASE("elapsed time", "events.elapsed", "a native handle that nobody recorded with leaves it not_recorded",
              Capability::timed_events, Capability::native_handles) {
  const Stream stream = CALL(Stream(run.device()));
  const Event recorded = CALL(stream.record_event({.timing = true}));
  const Event other = CALL(Event(run.device(), {.timing = true}));
  CHECK(CALL(other.native_handle()) != 0);
  CALL(stream.synchronize());
  CHECK_ERROR(not_recorded, elapsed_time(recorded, other));
  CHECK_ERROR(not_recorded, elapsed_time(other, recorded));
  CHECK_ERROR(not_recorded, other.timestamp_ns());
}

ANYPLACE_CASE("elapsed time", "events.elapsed", "with an event that isn't complete it is not_ready",
              Capability::timed_events, Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Event start = CALL(stream.record_event({.timing = true}));
  gate.hold(stream);
  const Event end = CALL(stream.record_event({.timing = true}));
  CALL(start.synchronize());
  CHECK_ERROR(not_ready, elapsed_time(start, end));
  CHECK_ERROR(not_ready, elapsed_time(end, start));
  gate.open();
  CALL(end.synchronize());
  CHECK(CALL(elapsed_time(start, end)) >= 0);
}

ANYPLACE_CASE("elapsed time", "events.elapsed",
              "a complete event that is recorded again is not_ready until it is complete", Capability::timed_events,
              Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Event start = CALL(stream.record_event({.timing = true}));
  const Event end = CALL(stream.record_event({.timing = true}));
  CALL(stream.synchronize());
  gate.hold(stream);
  CALL(end.record(stream));
  CHECK_ERROR(not_ready, elapsed_time(start, end));
  gate.open();
  CALL(end.synchronize());
  CHECK(CALL(elapsed_time(start, end)) >= 0);
}

ANYPLACE_CASE("elapsed time", "events.elapsed", "between two backends it is invalid_argument", Capability::timed_events,
              other_backend) {
  if (!run.other().has(Capability::timed_events)) skip("timed events of the other backend");
  const Stream here = CALL(Stream(run.device()));
  const Stream there = CALL(Stream(run.other()));
  const Event start = CALL(here.record_event({.timing = true}));
  const Event end = CALL(there.record_event({.timing = true}));
  CALL(start.synchronize());
  CALL(end.synchronize());
  CHECK_ERROR(invalid_argument, elapsed_time(start, end));
}

// ---- Clocks

/// A vendor that tells milliseconds as a float may round a second by this; it is also more than any resolution.
constexpr std::uint64_t rounding_ns = 10'000;

bool in_order(std::uint64_t earlier, std::uint64_t later) { return earlier <= later + rounding_ns; }

ANYPLACE_CASE("clocks", "events.timestamps", "a timestamp lies between readings of the device's clock",
              Capability::timed_events) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = CALL(Buffer(stream, 1 << 20));
  for (int i = 0; i < 20; ++i) {
    const ClockReading before = CALL(device.clock());
    CALL(stream.memset8(buffer, 1));
    const Event event = CALL(stream.record_event({.timing = true}));
    CALL(event.synchronize());
    const std::uint64_t stamp = CALL(event.timestamp_ns());
    const ClockReading after = CALL(device.clock());
    CHECK(in_order(before.device_ns, stamp));
    CHECK(in_order(stamp, after.device_ns));
  }
}

ANYPLACE_CASE("clocks", "events.timestamps", "the host's part of a clock reading is CLOCK_MONOTONIC",
              Capability::timed_events) {
  const auto now = [] {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(HostClock::now().time_since_epoch()).count());
  };
  const Device device = run.device();
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t before = now();
    const ClockReading reading = CALL(device.clock());
    const std::uint64_t after = now();
    CHECK(before <= reading.host_ns && reading.host_ns <= after);
  }
}

ANYPLACE_CASE("clocks", "events.timestamps", "timestamps are as far apart as the time between their events",
              Capability::timed_events) {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = CALL(Buffer(stream, 1 << 20));
  const Event first = CALL(stream.record_event({.timing = true}));
  for (int i = 0; i < 20; ++i) CALL(stream.memset8(buffer, 1));
  const Event last = CALL(stream.record_event({.timing = true}));
  CALL(stream.synchronize());
  const double elapsed = CALL(elapsed_time(first, last)) * 1e6;
  const auto apart =
      static_cast<double>(static_cast<std::int64_t>(CALL(last.timestamp_ns()) - CALL(first.timestamp_ns())));
  CHECK(apart >= elapsed - static_cast<double>(rounding_ns));
  CHECK(apart <= elapsed + static_cast<double>(rounding_ns));
}

ANYPLACE_CASE("clocks", "events.timestamps", "without timing, record or completion there is no timestamp",
              Capability::timed_events, Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Event plain = CALL(stream.record_event());
  CALL(stream.synchronize());
  CHECK_ERROR(timing_disabled, plain.timestamp_ns());
  const Event event = CALL(Event(run.device(), {.timing = true}));
  CHECK_ERROR(not_recorded, event.timestamp_ns());
  gate.hold(stream);
  CALL(event.record(stream));
  CHECK_ERROR(not_ready, event.timestamp_ns());
  gate.open();
  CALL(event.synchronize());
  CHECK(CALL(event.timestamp_ns()) > 0);
}

ANYPLACE_CASE("clocks", "events.timestamps", "a device has a clock if it measures time, and else has none") {
  if (run.device().has(Capability::timed_events)) {
    CHECK(CALL(run.device().clock()).host_ns > 0);
  } else {
    CHECK_ERROR(unsupported, run.device().clock());
  }
}

}  // namespace
}  // namespace anyplace::conformance::events_time_cases
