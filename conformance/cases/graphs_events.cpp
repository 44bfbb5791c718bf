// SPDX-License-Identifier: Apache-2.0
// Graphs: the events that launches record and wait for, of the graph's device and of another.
#include <atomic>

#include "support.h"

namespace anyplace::conformance::graphs_events_cases {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t bytes = 1 << 20;

Bytes all_of(std::uint8_t value) { return Bytes(bytes, value); }

ANYPLACE_CASE("graphs", "graphs.events", "a recorded event is complete when what it comes after is done",
              Capability::host_functions) {
  const Signal open;
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Stream other = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  const Buffer copied = filled(stream, bytes, 0);
  const Event event = CALL(Event(device));
  Graph graph(device);
  const GraphNode held = graph.add_host_function({}, [open] { open.wait(); });
  const GraphNode fill = graph.add_memset8(held, buffer, 2);
  graph.add_memset8(graph.add_event_record(fill, event), buffer.sub(0, 0), 3);
  const GraphExec exec = CALL(graph.instantiate());
  CHECK(event.query());
  CALL(exec.launch(stream));
  CALL(other.wait_event(event));
  CALL(other.copy(copied, buffer));
  CHECK_STAYS_FALSE(event.query() || other.query() || read(copied) != all_of(0));
  open.set();
  CALL(event.synchronize());
  CHECK_BYTES(read(other, copied), all_of(2));
  CALL(stream.synchronize());
}

ANYPLACE_CASE("graphs", "graphs.events", "an event is recorded at each launch, and in its place",
              Capability::host_functions) {
  const Signal open;
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Event event = CALL(Event(device));
  std::atomic<int> rounds{0};
  Graph graph(device);
  const GraphNode recorded = graph.add_event_record(graph.add_empty({}), event);
  graph.add_host_function(recorded, [&rounds, open] {
    if (++rounds == 2) open.wait();
  });
  const GraphExec exec = CALL(graph.instantiate());
  CALL(exec.launch(stream));
  CALL(event.synchronize());
  CALL(stream.synchronize());
  // The record of the second launch comes before the host function that holds the launch.
  CALL(exec.launch(stream));
  CALL(event.synchronize());
  CHECK_STAYS_FALSE(stream.query());
  // The record of the third launch isn't reached.
  CALL(exec.launch(stream));
  CHECK_STAYS_FALSE(event.query());
  open.set();
  CALL(event.synchronize());
  CALL(stream.synchronize());
}

/// A graph of `device` waits for an event of `recorder`.
void check_last_record_is_waited_for(const Device& recorder, const Device& device) {
  Handover handover(recorder, device);
  const Event event = CALL(Event(recorder));
  Graph graph(device);
  graph.add_copy(graph.add_event_wait({}, event), handover.destination, handover.source);
  const GraphExec exec = CALL(graph.instantiate());
  // Without a record there is no wait.
  CALL(exec.launch(handover.consumer));
  CHECK_BYTES(read(handover.consumer, handover.destination), Bytes(Handover::bytes, 1));
  handover.hold_and_fill();
  CALL(event.record(handover.producer));
  CALL(exec.launch(handover.consumer));
  CHECK_STAYS_FALSE(handover.consumer.query() || read(handover.destination) != Bytes(Handover::bytes, 1));
  handover.gate.open();
  CHECK_BYTES(read(handover.consumer, handover.destination), Bytes(Handover::bytes, 2));
}

ANYPLACE_CASE("graphs", "graphs.events", "a node waits for the event's most recent record when the graph is launched",
              Capability::host_functions) {
  check_last_record_is_waited_for(run.device(), run.device());
}

ANYPLACE_CASE("graphs", "graphs.events", "a node waits for the most recent record of another device's event",
              Capability::host_functions, second_device) {
  check_last_record_is_waited_for(run.second(), run.device());
}

void check_later_record_is_not_waited_for(const Device& recorder, const Device& device) {
  HostGate gate;
  const Stream stream = CALL(Stream(device));
  const Stream held = CALL(Stream(recorder));
  const Buffer buffer = filled(stream, bytes, 1);
  const Event event = CALL(Event(recorder));
  Graph graph(device);
  graph.add_memset8(graph.add_event_wait({}, event), buffer, 2);
  const GraphExec exec = CALL(graph.instantiate());
  CALL(event.record(held));
  CALL(exec.launch(stream));
  gate.hold(held);
  CALL(event.record(held));
  CHECK(CALL(stream.synchronize(1h)));
  CHECK_BYTES(read(buffer), all_of(2));
  gate.open();
  CALL(held.synchronize());
}

ANYPLACE_CASE("graphs", "graphs.events", "a record after the launch doesn't move what the launch waits for",
              Capability::host_functions) {
  check_later_record_is_not_waited_for(run.device(), run.device());
}

ANYPLACE_CASE("graphs", "graphs.events", "a launch doesn't wait for what another device records after it",
              Capability::host_functions, second_device) {
  check_later_record_is_not_waited_for(run.second(), run.device());
}

ANYPLACE_CASE("graphs", "graphs.events", "the time between two events of a graph can be measured",
              Capability::timed_events) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, 1 << 22, 1);
  const Event start = CALL(Event(device, {.timing = true}));
  const Event end = CALL(Event(device, {.timing = true}));
  CALL(stream.begin_capture());
  CALL(stream.record_external_event(start));
  CALL(stream.memset8(buffer, 2));
  CALL(stream.record_external_event(end));
  const GraphExec exec = CALL(stream.end_capture().instantiate());
  for (int launch = 0; launch < 3; ++launch) {
    CALL(exec.launch(stream));
    CALL(stream.synchronize());
    CHECK(CALL(elapsed_time(start, end)) >= 0);
  }
}

ANYPLACE_CASE("graphs", "graphs.events", "a graph keeps the events that it records and waits for") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  Graph graph(device);
  {
    const Event event = CALL(Event(device));
    graph.add_memset8(graph.add_event_wait(graph.add_event_record({}, event), event), buffer, 2);
  }
  const GraphExec exec = CALL(graph.instantiate());
  for (int launch = 0; launch < 3; ++launch) CALL(exec.launch(stream));
  CHECK_BYTES(read(stream, buffer), all_of(2));
}

ANYPLACE_CASE("graphs", "graphs.events", "another device waits for what a graph records, each time",
              Capability::host_functions, second_device) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Stream elsewhere = CALL(Stream(run.second()));
  const Buffer source = filled(stream, bytes, 0);
  const Buffer destination = filled(elsewhere, bytes, 0);
  const Event event = CALL(Event(device));
  std::atomic<const Signal*> open{nullptr};
  Graph graph(device);
  const GraphNode held = graph.add_host_function({}, [&open] { open.load()->wait(); });
  graph.add_event_record(graph.add_memset8(held, source, 2), event);
  const GraphExec exec = CALL(graph.instantiate());
  for (int round = 0; round < 2; ++round) {
    const Signal signal;
    open = &signal;
    CALL(stream.memset8(source, 1));
    CALL(elsewhere.memset8(destination, 0));
    CALL(elsewhere.synchronize());
    CALL(exec.launch(stream));
    CALL(elsewhere.wait_event(event));
    CALL(elsewhere.copy(destination, source));
    CHECK_STAYS_FALSE(elsewhere.query() || read(destination) != all_of(0));
    signal.set();
    CHECK_BYTES(read(elsewhere, destination), all_of(2));
    CALL(stream.synchronize());
  }
}

}  // namespace
}  // namespace anyplace::conformance::graphs_events_cases
