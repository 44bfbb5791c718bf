// SPDX-License-Identifier: Apache-2.0
// Which record of an event of several processes a wait takes: the most recent one at the call, whichever process made
// it, and none that is made later. Each process holds back at most one stream.
#include "second_process.h"
#include "support.h"

namespace anyplace::conformance::ipc_events_cases {
namespace {

constexpr std::uint64_t bytes = 4096;

struct Side {
  explicit Side(const Run& run) : device(run.place()), stream(device) {}

  Device device;
  Stream stream;
};

struct Recorder {
  std::string label;
  bool waiting_process;
};
const std::vector<Recorder> recorders = {{"the process that made the first", false}, {"the process that waits", true}};

ANYPLACE_CASES(recorders, "ipc", "ipc.events",
               "a record by {} that is complete doesn't end a wait for an earlier one that isn't",
               Capability::interprocess_events, Capability::host_functions) {
  Second second([&](const Talk& talk) {
    const Side side(run);
    const Stream held = CALL(Stream(side.device));
    const Event event = CALL(Event(side.device, {.interprocess = true}));
    HostGate gate;
    gate.hold(held);
    CALL(held.record_event(event));
    talk.send(CALL(event.export_handle()));
    talk.hear();
    if (!parameter.waiting_process) {
      CALL(side.stream.record_event(event));
      CALL(event.synchronize());
    }
    talk.tell();
    talk.hear();
    CHECK(event.query());  // the most recent record
    gate.open();
    CALL(held.synchronize());
    talk.hear();
  });
  const Side side(run);
  const Stream waiter = CALL(Stream(side.device));
  const Event event = CALL(Event::import(side.device, second.talk().receive()));
  CALL(waiter.wait_event(event));
  second.talk().tell();
  second.talk().hear();
  if (parameter.waiting_process) {
    CALL(side.stream.record_event(event));
    CALL(event.synchronize());
  }
  CHECK(event.query());
  CHECK_STAYS_FALSE(waiter.query());
  CALL(side.stream.wait_event(event));
  CALL(side.stream.synchronize());
  second.talk().tell();
  CALL(waiter.synchronize());
  second.talk().tell();
  second.must_end_well();
}

struct Stretch {
  std::string label;
  bool behind_work;
};
const std::vector<Stretch> stretches = {{"an idle stream", false}, {"a stream that has work to do first", true}};

ANYPLACE_CASES(stretches, "ipc", "ipc.events",
               "a later record of another process that is pending doesn't hold back a wait of {}",
               Capability::interprocess_events, Capability::host_functions) {
  Second second([&](const Talk& talk) {
    const Side side(run);
    const Event before = CALL(Event(side.device, {.interprocess = true}));
    const Event event = CALL(Event(side.device, {.interprocess = true}));
    // Both are on one stream, so that the second gate holds it back when the first is open.
    HostGate first, second;
    first.hold(side.stream);
    CALL(side.stream.record_event(before));
    CALL(side.stream.record_event(event));
    second.hold(side.stream);
    talk.send(CALL(before.export_handle()));
    talk.send(CALL(event.export_handle()));
    talk.hear();
    CALL(side.stream.record_event(event));
    first.open();
    CALL(before.synchronize());
    talk.tell();
    talk.hear();
    CHECK(!event.query());
    second.open();
    CALL(side.stream.synchronize());
    talk.hear();
  });
  const Side side(run);
  const Event before = CALL(Event::import(side.device, second.talk().receive()));
  const Event event = CALL(Event::import(side.device, second.talk().receive()));
  const Buffer buffer = filled(side.stream, bytes, 1);
  if (parameter.behind_work) CALL(side.stream.wait_event(before));
  CALL(side.stream.wait_event(event));
  CALL(side.stream.memset8(buffer, 2));
  CHECK_STAYS_FALSE(side.stream.query());
  second.talk().tell();
  second.talk().hear();
  CALL(side.stream.synchronize());
  CHECK_BYTES(read(side.stream, buffer), Bytes(bytes, 2));
  CHECK(!event.query());
  second.talk().tell();
  CALL(event.synchronize());
  second.talk().tell();
  second.must_end_well();
}

/// Records the event behind a gate, and opens the gate when the other process has seen the record pending.
void record_round(const Side& side, const Event& event, const Talk& talk) {
  HostGate gate;
  gate.hold(side.stream);
  CALL(side.stream.record_event(event));
  talk.tell();
  talk.hear();
  CHECK(!event.query());
  gate.open();
  CALL(side.stream.synchronize());
  CHECK(event.query());
  talk.hear();
  talk.tell();  // from here on the other process may record it
}

/// Waits in the other process for a record of record_round().
void wait_round(const Side& side, const Event& event, const Talk& talk) {
  const Buffer buffer = filled(side.stream, bytes, 1);
  talk.hear();
  CHECK(!event.query());
  CHECK(!event.synchronize(std::chrono::nanoseconds(0)));
  CHECK(!event.synchronize(std::chrono::milliseconds(1)));
  CALL(side.stream.wait_event(event));
  CALL(side.stream.memset8(buffer, 2));
  CHECK_STAYS_FALSE(side.stream.query());
  CHECK(!side.stream.synchronize(std::chrono::milliseconds(1)));
  CHECK(!side.device.synchronize(std::chrono::milliseconds(1)));
  talk.tell();
  CALL(event.synchronize());
  CHECK(event.query());
  CALL(side.stream.synchronize());
  CHECK_BYTES(read(side.stream, buffer), Bytes(bytes, 2));
  talk.tell();
  talk.hear();
}

ANYPLACE_CASE("ipc", "ipc.events", "each record of an event that two processes record in turn is waited for",
              Capability::interprocess_events, Capability::host_functions) {
  constexpr int rounds = 2;
  Second second([&](const Talk& talk) {
    const Side side(run);
    const Event event = CALL(Event::import(side.device, talk.receive()));
    for (int i = 0; i < rounds; ++i) {
      wait_round(side, event, talk);
      wait_round(side, event, talk);
      record_round(side, event, talk);
    }
  });
  const Side side(run);
  const Event event = CALL(Event(side.device, {.interprocess = true}));
  // The records that existed when the event was exported and when it was opened don't count for later waits.
  CALL(side.stream.record_event(event));
  CALL(event.synchronize());
  second.talk().send(CALL(event.export_handle()));
  for (int i = 0; i < rounds; ++i) {
    record_round(side, event, second.talk());
    record_round(side, event, second.talk());
    wait_round(side, event, second.talk());
  }
  second.must_end_well();
}

ANYPLACE_CASE("ipc", "ipc.events", "what a process completed before it was killed is complete, and holds nobody back",
              Capability::interprocess_events, Capability::host_functions) {
  Second second([&](const Talk& talk) {
    const Side side(run);
    const Event complete = CALL(Event(side.device, {.interprocess = true}));
    const Event never = CALL(Event(side.device, {.interprocess = true}));
    CALL(side.stream.record_event(complete));
    CALL(complete.synchronize());
    talk.send(CALL(complete.export_handle()));
    talk.send(CALL(never.export_handle()));
    HostGate gate;
    gate.hold(side.stream);  // pending work that nobody waits for
    talk.tell();
    talk.hear();
  });
  const Side side(run);
  const Event complete = CALL(Event::import(side.device, second.talk().receive()));
  const Event never = CALL(Event::import(side.device, second.talk().receive()));
  second.talk().hear();
  second.kill_now();
  const Buffer buffer = filled(side.stream, bytes, 1);
  for (int i = 0; i < 2; ++i) {
    for (const Event* const event : {&complete, &never}) {
      CHECK(event->query());
      CALL(event->synchronize());
      CALL(side.stream.wait_event(*event));
      CALL(side.stream.memset8(buffer, static_cast<std::uint8_t>(2 + i)));
      CALL(side.stream.synchronize());
    }
  }
  CHECK_BYTES(read(side.stream, buffer), Bytes(bytes, 3));
  CALL(side.device.synchronize());
}

}  // namespace
}  // namespace anyplace::conformance::ipc_events_cases
