// SPDX-License-Identifier: Apache-2.0
//
// Events: records, waits, timing.
#include <catch2/catch.hpp>
#include <memory>

#include "plugin.h"

namespace test_events_cases {

using namespace cpu_sim_test;

namespace {

anyplace_status elapsed(Plugin& plugin, Event& start, Event& end, double* ms) {
  return plugin->event_elapsed(plugin.self(), start.handle, end.handle, ms);
}

}  // namespace

TEST_CASE("Given an event that was never recorded, Then it is done, and waiting for it is no wait") {
  Plugin plugin;
  Event event(plugin);
  Stream stream(plugin);
  CHECK(event.done());
  CHECK(event.synchronize());
  stream.wait(event);
  CHECK(stream.done());
}

TEST_CASE("Given a record behind pending work, Then the event is done exactly when that work is") {
  Plugin plugin;
  Gate gate(plugin);
  for (std::uint32_t flags : {0u, std::uint32_t{ANYPLACE_EVENT_TIMING}, std::uint32_t{ANYPLACE_EVENT_BLOCKING_SYNC}}) {
    Event event(plugin, flags);
    Gate before(plugin), after(plugin);
    Stream stream(plugin);
    stream.wait(before);
    stream.record(event);
    stream.wait(after);
    CHECK_FALSE(event.done());
    CHECK_FALSE(event.synchronize(millisecond));
    before.open();
    CHECK(event.synchronize());
    CHECK(event.done());
    CHECK_FALSE(stream.done());
    after.open();
    CHECK(stream.synchronize());
  }
}

TEST_CASE("Given a stream that waits for another's event, Then only what it is given later is held back") {
  Plugin plugin;
  Gate gate(plugin);
  Event event(plugin), passed(plugin);
  Stream producer(plugin), consumer(plugin);
  std::atomic<int> produced{0}, seen{-1};
  producer.wait(gate);
  producer.run([&] { produced = 42; });
  producer.record(event);

  consumer.record(passed);
  consumer.wait(event);
  consumer.run([&] { seen = produced.load(); });
  CHECK(passed.synchronize());
  CHECK_FALSE(consumer.synchronize(millisecond));
  CHECK(seen == -1);
  gate.open();
  CHECK(consumer.synchronize());
  CHECK(seen == 42);
}

TEST_CASE("Given a wait, When the event is recorded again, Then the wait stays with the record at the call") {
  Plugin plugin;
  Gate never(plugin);
  Event event(plugin);
  Stream first(plugin), second(plugin), waiter(plugin);
  first.run([] {});
  first.record(event);
  waiter.wait(event);
  second.wait(never);
  second.record(event);
  CHECK(waiter.synchronize());  // it would hang if the second record had moved it
  CHECK_FALSE(event.done());

  // And the other way: an earlier pending record holds although a later one is complete.
  Gate pending(plugin);
  Event again(plugin);
  first.wait(pending);
  first.record(again);
  waiter.wait(again);
  Stream idle(plugin);
  idle.record(again);
  CHECK(again.done());
  CHECK_FALSE(waiter.synchronize(millisecond));
  pending.open();
  never.open();
  CHECK(waiter.synchronize());
}

TEST_CASE("Given a wait, When the event and its stream are destroyed, Then the wait holds and ends all the same") {
  Plugin plugin;
  Gate gate(plugin);
  Stream waiter(plugin);
  {
    Stream producer(plugin);
    Event event(plugin);
    producer.wait(gate);
    producer.record(event);
    waiter.wait(event);
  }
  CHECK_FALSE(waiter.synchronize(millisecond));
  gate.open();
  CHECK(waiter.synchronize());
}

TEST_CASE("Given an event of a stream's own, Then waiting for it is no deadlock") {
  Plugin plugin;
  Gate gate(plugin);
  Event event(plugin);
  Stream stream(plugin);
  stream.wait(gate);
  stream.record(event);
  stream.wait(event);
  gate.open();
  CHECK(stream.synchronize());
}

TEST_CASE("Given an event of another device, Then a stream can wait for it") {
  Plugin plugin;
  Gate gate(plugin);
  Event event(plugin, 0, 0);
  Stream producer(plugin, Stream::on(0)), consumer(plugin, Stream::on(1));
  producer.wait(gate);
  producer.record(event);
  consumer.wait(event);
  CHECK_FALSE(consumer.synchronize(millisecond));
  gate.open();
  CHECK(consumer.synchronize());
}

TEST_CASE("Given a chain of ten thousand streams, each waiting for the one before, Then the last one ends") {
  Plugin plugin;
  Gate gate(plugin);
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 10000; ++i) {
    streams.push_back(std::make_unique<Stream>(plugin));
    if (i == 0) {
      streams[0]->wait(gate);
    } else {
      Event event(plugin);
      streams[i - 1]->record(event);
      streams[i]->wait(event);
    }
  }
  CHECK_FALSE(streams.back()->done());
  gate.open();
  CHECK(streams.back()->synchronize());
}

TEST_CASE("Given timed events around work, Then the time between them is in milliseconds and signed") {
  Plugin plugin;
  Event start(plugin, ANYPLACE_EVENT_TIMING), end(plugin, ANYPLACE_EVENT_TIMING);
  Stream stream(plugin);
  Gate gate(plugin);
  stream.record(start);
  stream.wait(gate);
  stream.record(end);
  REQUIRE(start.synchronize());
  // The work between takes at least as long as this wait that must run out.
  REQUIRE_FALSE(stream.synchronize(20 * millisecond));
  gate.open();
  REQUIRE(stream.synchronize());
  double forward = 0, backward = 0;
  check(elapsed(plugin, start, end, &forward));
  check(elapsed(plugin, end, start, &backward));
  CHECK(forward >= 19.9);
  CHECK(forward < 600'000);
  CHECK(backward == -forward);
}

TEST_CASE("Given events that can't be compared, Then there are three different errors") {
  Plugin plugin;
  Event timed(plugin, ANYPLACE_EVENT_TIMING), fresh(plugin, ANYPLACE_EVENT_TIMING), untimed(plugin);
  Stream stream(plugin);
  stream.record(timed);
  stream.record(untimed);
  REQUIRE(stream.synchronize());
  double ms = 7;
  CHECK(elapsed(plugin, timed, untimed, &ms) == ANYPLACE_STATUS_TIMING_DISABLED);
  CHECK(elapsed(plugin, untimed, timed, &ms) == ANYPLACE_STATUS_TIMING_DISABLED);
  CHECK(elapsed(plugin, timed, fresh, &ms) == ANYPLACE_STATUS_NOT_RECORDED);
  CHECK(elapsed(plugin, fresh, timed, &ms) == ANYPLACE_STATUS_NOT_RECORDED);
  Gate gate(plugin);
  stream.wait(gate);
  stream.record(fresh);
  CHECK(elapsed(plugin, timed, fresh, &ms) == ANYPLACE_STATUS_NOT_READY);
  CHECK(elapsed(plugin, fresh, timed, &ms) == ANYPLACE_STATUS_NOT_READY);
  gate.open();
  REQUIRE(stream.synchronize());
  CHECK(elapsed(plugin, timed, fresh, &ms) == ANYPLACE_STATUS_OK);
  CHECK(ms >= 0);
}

TEST_CASE("Given flags that are unknown or contradict each other, Then no event is made") {
  Plugin plugin;
  CHECK(status_of([&] { Event event(plugin, ANYPLACE_EVENT_INTERPROCESS | ANYPLACE_EVENT_TIMING); }) ==
        ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(status_of([&] { Event event(plugin, 1u << 20); }) == ANYPLACE_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("Given events, Then their native numbers are unique") {
  Plugin plugin;
  Event a(plugin), b(plugin);
  std::uint64_t native_a = 0, native_b = 0;
  check(plugin->event_native(plugin.self(), a.handle, &native_a));
  check(plugin->event_native(plugin.self(), b.handle, &native_b));
  CHECK(native_a != 0);
  CHECK(native_a != native_b);
}

}  // namespace test_events_cases
