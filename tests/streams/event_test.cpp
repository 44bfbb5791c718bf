// SPDX-License-Identifier: Apache-2.0
// Events: recording, asking, options, measuring.
#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <unordered_set>

#include "streams/plugins/forward.h"
#include "support/errors.h"
#include "support/host_gate.h"

namespace event_test {

using namespace anyplace;
using namespace std::chrono_literals;
using test::code_of;
using test::error_of;
using test::HostGate;

TEST_CASE("Given an event that was never recorded then it is complete and nobody waits for it") {
  const Event event(Device("cpu_sim:0"));
  REQUIRE(event.query());
  event.synchronize();
  REQUIRE(event.synchronize(0ns));
  const Stream stream(Device("cpu_sim:0"));
  stream.wait_event(event);
  stream.synchronize();
  const Stream elsewhere(Device("cpu_sim:1"));
  elsewhere.wait_event(event);
  elsewhere.synchronize();
}

TEST_CASE("Given a record behind pending work then the event completes after that work") {
  const Stream stream(Device("cpu_sim:0"));
  const Event event(Device("cpu_sim:0"));
  HostGate gate;
  gate.block(stream);
  event.record(stream);
  REQUIRE_FALSE(event.query());
  REQUIRE_FALSE(event.synchronize(0ns));
  REQUIRE_FALSE(event.synchronize(2ms));
  gate.open();
  REQUIRE(event.synchronize(1h));
  REQUIRE(event.query());
  event.synchronize();
}

TEST_CASE("Given a record when it is made again then the newer one counts") {
  const Stream stream(Device("cpu_sim:0"));
  const Event event(Device("cpu_sim:0"));
  event.record(stream);
  event.synchronize();
  HostGate gate;
  gate.block(stream);
  event.record(stream);
  REQUIRE_FALSE(event.query());
  gate.open();
  event.synchronize();
  REQUIRE(event.query());
}

TEST_CASE("Given a fault before a record then the event says nothing of it") {
  const Stream stream(Device("cpu_sim:0"));
  stream.launch_host_func([] { throw 1; });
  const Event event = stream.record_event();
  event.synchronize();
  REQUIRE(event.query());
  REQUIRE(code_of([&] { stream.synchronize(); }) == ErrorCode::host_function_failed);
}

TEST_CASE("Given a stream of another device when an event is recorded there then the error names both places") {
  const Stream stream(Device("cpu_sim:1"));
  const Event event(Device("cpu_sim:0"));
  for (const auto& error :
       {error_of([&] { event.record(stream); }), error_of([&] { static_cast<void>(stream.record_event(event)); })}) {
    REQUIRE(error);
    REQUIRE(error->code() == ErrorCode::invalid_argument);
    REQUIRE(error->text().find("cpu_sim:0") != std::string::npos);
    REQUIRE(error->text().find("cpu_sim:1") != std::string::npos);
  }
  REQUIRE(event.query());
}

TEST_CASE("Given no event when a stream records one then it makes it with the options") {
  const Stream stream(Device("cpu_sim:1"));
  const Event plain = stream.record_event();
  REQUIRE(plain.device() == stream.device());
  const Event first = stream.record_event({.timing = true});
  const EventView same = stream.record_event(first.view());
  REQUIRE(same == first);
  stream.synchronize();
  REQUIRE(elapsed_time(first, same) == 0.0);
}

TEST_CASE("Given options that exclude each other or aren't to be had then making the event says which") {
  test::Forward& forward = test::new_forward();
  forward.absent_capabilities = std::uint64_t{1} << ANYPLACE_CAPABILITY_BIT_INTERPROCESS_EVENTS;
  forward.install("sim_b");
  const Device device("sim_b:0");
  const auto both = error_of([&] { const Event event(device, {.timing = true, .interprocess = true}); });
  REQUIRE(both);
  REQUIRE(both->code() == ErrorCode::invalid_argument);
  REQUIRE_FALSE(device.has(Capability::interprocess_events));
  const auto absent = error_of([&] { const Event event(device, {.interprocess = true}); });
  REQUIRE(absent);
  REQUIRE(absent->code() == ErrorCode::unsupported);
  REQUIRE(absent->text().find("interprocess_events") != std::string::npos);
  REQUIRE(absent->place() == "sim_b:0");
  const Event blocking(device, {.blocking_sync = true});
  const Stream stream(device);
  blocking.record(stream);
  blocking.synchronize();
}

TEST_CASE("Given events in order when the time between is asked for then it is finite and the sign tells the order") {
  const Stream stream(Device("cpu_sim:0"));
  const Event start(Device("cpu_sim:0"), {.timing = true});
  const Event end(Device("cpu_sim:0"), {.timing = true});
  start.record(stream);
  HostGate gate;
  gate.block(stream);
  gate.wait_until_reached();
  gate.open();
  end.record(stream);
  stream.synchronize();
  const double there = elapsed_time(start, end);
  REQUIRE(std::isfinite(there));
  REQUIRE(there > 0);
  REQUIRE(elapsed_time(end, start) == -there);
  REQUIRE(elapsed_time(start, start) == 0);
}

TEST_CASE("Given events that can't be measured then each reason is an error of its own") {
  const Stream stream(Device("cpu_sim:0"));
  const Event plain(Device("cpu_sim:0"));
  const Event one(Device("cpu_sim:0"), {.timing = true});
  const Event two(Device("cpu_sim:0"), {.timing = true});
  plain.record(stream);
  one.record(stream);
  stream.synchronize();
  REQUIRE(code_of([&] { elapsed_time(plain, one); }) == ErrorCode::timing_disabled);
  REQUIRE(code_of([&] { elapsed_time(one, plain); }) == ErrorCode::timing_disabled);
  REQUIRE(code_of([&] { elapsed_time(one, two); }) == ErrorCode::not_recorded);
  REQUIRE(code_of([&] { elapsed_time(two, one); }) == ErrorCode::not_recorded);
  HostGate gate;
  gate.block(stream);
  two.record(stream);
  REQUIRE(code_of([&] { elapsed_time(one, two); }) == ErrorCode::not_ready);
  REQUIRE(code_of([&] { elapsed_time(two, one); }) == ErrorCode::not_ready);
  gate.open();
  two.synchronize();
  REQUIRE(elapsed_time(one, two) >= 0);
}

TEST_CASE("Given events of two backends when the time between is asked for then that is an invalid argument") {
  const Stream a(Device("cpu_sim:0"));
  const Stream b(Device("sim_b:0"));
  const Event first = a.record_event({.timing = true});
  const Event last = b.record_event({.timing = true});
  a.synchronize();
  b.synchronize();
  const auto error = error_of([&] { elapsed_time(first, last); });
  REQUIRE(error);
  REQUIRE(error->code() == ErrorCode::invalid_argument);
  REQUIRE(error->text().find("cpu_sim:0") != std::string::npos);
  REQUIRE(error->text().find("sim_b:0") != std::string::npos);
}

TEST_CASE("Given events when they are compared then equality and order and hash go by an identity never reused") {
  std::unordered_set<EventView> seen;
  for (int i = 0; i < 2000; ++i) REQUIRE(seen.insert(Event(Device("cpu_sim:0")).view()).second);
  const Event a(Device("cpu_sim:0"));
  const Event b(Device("cpu_sim:0"));
  const EventView view = a;
  REQUIRE(view == a);
  REQUIRE(view != b);
  REQUIRE((a < b) == (a.id() < b.id()));
}

TEST_CASE("Given an event when it is moved then its identity goes along and the source is null") {
  Event a(Device("cpu_sim:0"));
  const std::uint64_t id = a.id();
  Event b = std::move(a);
  REQUIRE(a.id() == 0);  // NOLINT: what is left behind is the point
  REQUIRE(b.id() == id);
  Event c(Device("cpu_sim:0"));
  const EventView gone = c;
  c = std::move(b);
  REQUIRE(c.id() == id);
  REQUIRE(code_of([&] { static_cast<void>(gone.query()); }) == ErrorCode::invalid_handle);
}

TEST_CASE("Given an event that streams wait for when it is destroyed then they still wait for its record") {
  const Stream first(Device("cpu_sim:0"));
  const Stream second(Device("cpu_sim:0"));
  HostGate gate;
  gate.block(first);
  {
    const Event event = first.record_event();
    second.wait_event(event);
  }
  bool first_done = false;
  second.launch_host_func([&] { first_done = first_done || true; });
  REQUIRE_FALSE(second.query());
  gate.open();
  second.synchronize();
  REQUIRE(first.query());
  REQUIRE(first_done);
}

TEST_CASE("Given native handles when an event has one then it isn't null") {
  const Event event(Device("cpu_sim:0"));
  REQUIRE(event.native_handle() != 0);
}

}  // namespace event_test
