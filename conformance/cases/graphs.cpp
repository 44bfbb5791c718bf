// SPDX-License-Identifier: Apache-2.0
// Graphs: how a capture turns calls into nodes, and the place of a launch in its stream's order.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>

#include "support.h"

namespace anyplace::conformance::graphs_cases {
namespace {

constexpr std::uint64_t bytes = 1 << 16;

Bytes all_of(std::uint8_t value) { return Bytes(bytes, value); }

// ---- Captures

ANYPLACE_CASE("graphs", "graphs.capture", "nothing of a capture runs before a launch, and all of it at each launch") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer first = filled(stream, bytes, 1);
  const Buffer second = filled(stream, bytes, 1);
  CALL(stream.begin_capture());
  CHECK(stream.is_capturing());
  CALL(stream.memset8(first, 2));
  CALL(stream.copy(second, first));
  const Graph graph = CALL(stream.end_capture());
  CHECK(!stream.is_capturing());
  CHECK_EQUAL(graph.size(), 2u);
  const GraphExec exec = CALL(graph.instantiate());
  CALL(stream.synchronize());
  CHECK_STAYS_FALSE(read(first) != all_of(1) || read(second) != all_of(1));
  for (int round = 0; round < 3; ++round) {
    CALL(stream.memset8(second, 9));
    CALL(exec.launch(stream));
    CHECK_BYTES(read(stream, second), all_of(2));
  }
}

ANYPLACE_CASE("graphs", "graphs.capture", "a copy from the host reads what is there at each launch") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = filled(stream, bytes, 0);
  Bytes in(bytes);
  Bytes out(bytes);
  CALL(stream.begin_capture());
  CALL(stream.copy(buffer, in));
  CALL(stream.copy(out, buffer));
  const GraphExec exec = CALL(stream.end_capture().instantiate());
  for (std::uint8_t round = 1; round <= 3; ++round) {
    std::fill(in.begin(), in.end(), round);
    CALL(exec.launch(stream));
    CALL(stream.synchronize());
    CHECK_BYTES(out, all_of(round));
  }
}

ANYPLACE_CASE("graphs", "graphs.capture", "a stream joins by waiting, and what waits for it comes after its work") {
  const Device device = run.device();
  const Stream origin = CALL(Stream(device));
  const Stream branch = CALL(Stream(device));
  const Buffer a = filled(origin, bytes, 0);
  const Buffer b = filled(origin, bytes, 0);
  const Buffer c = filled(origin, bytes, 0);
  CALL(origin.begin_capture());
  CALL(origin.memset8(a, 5));
  CALL(branch.wait_event(origin.record_event()));
  CHECK(branch.is_capturing());
  CALL(branch.copy(b, a));
  CALL(origin.wait_stream(branch));
  CALL(origin.copy(c, b));
  CALL(origin.memset8(a, 6));
  const Graph graph = CALL(origin.end_capture());
  CHECK(!branch.is_capturing());
  const GraphExec exec = CALL(graph.instantiate());
  for (int round = 0; round < 20; ++round) {
    CALL(origin.memset8(b, 0));
    CALL(origin.memset8(c, 0));
    CALL(exec.launch(origin));
    CHECK_BYTES(read(origin, c), all_of(5));
    CHECK_BYTES(read(origin, a), all_of(6));
  }
}

ANYPLACE_CASE("graphs", "graphs.capture", "the streams of a capture are as before when it has ended") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Stream joined = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  for (std::uint8_t round = 2; round < 6; ++round) {
    CALL(stream.begin_capture());
    CALL(stream.memset8(buffer, 99));
    CALL(joined.wait_stream(stream));
    CALL(stream.wait_stream(joined));
    static_cast<void>(CALL(stream.end_capture()));
    CALL(joined.memset8(buffer, round));
    CALL(stream.wait_stream(joined));
    CALL(stream.synchronize());
    CHECK(stream.query());
    CHECK_BYTES(read(buffer), all_of(round));
  }
}

ANYPLACE_CASE("graphs", "graphs.capture", "another stream's work runs while a stream is captured") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Stream other = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  Bytes out(bytes);
  CALL(stream.begin_capture());
  CALL(stream.memset8(buffer, 9));
  CALL(other.memset8(buffer, 2));
  CALL(other.copy(out, buffer));
  CALL(other.synchronize());
  CHECK_BYTES(out, all_of(2));
  static_cast<void>(CALL(stream.end_capture()));
}

ANYPLACE_CASE("graphs", "graphs.capture", "a launch on a captured stream becomes a part of the graph, as it is then") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer inner_buffer = filled(stream, bytes, 0);
  const Buffer outer_buffer = filled(stream, bytes, 0);
  const auto filling = [&](std::uint8_t value) {
    Graph graph(stream.device());
    graph.add_memset8({}, inner_buffer, value);
    return graph;
  };
  const GraphExec inner = CALL(filling(3).instantiate());
  CALL(stream.begin_capture());
  CALL(inner.launch(stream));
  CALL(stream.copy(outer_buffer, inner_buffer));
  const GraphExec outer = CALL(stream.end_capture().instantiate());
  CALL(inner.update(filling(4)));
  CALL(outer.launch(stream));
  CHECK_BYTES(read(stream, outer_buffer), all_of(3));
}

// ---- Launches

/// A graph of one copy.
Graph copying(const Buffer& destination, const Buffer& source) {
  Graph graph(destination.device());
  graph.add_copy(graph.add_empty({}), destination, source);
  return graph;
}

ANYPLACE_CASE("graphs", "graphs.launch", "a launch waits for its stream's earlier work", Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Buffer source = filled(stream, bytes, 1);
  const Buffer destination = filled(stream, bytes, 0);
  const GraphExec exec = CALL(copying(destination, source).instantiate());
  gate.hold(stream);
  CALL(stream.memset8(source, 2));
  CALL(exec.launch(stream));
  CHECK_STAYS_FALSE(stream.query() || read(destination) != all_of(0));
  gate.open();
  CHECK_BYTES(read(stream, destination), all_of(2));
}

ANYPLACE_CASE("graphs", "graphs.launch", "a launch on a stream that waits for another's event waits for it too",
              Capability::host_functions) {
  const Device device = run.device();
  Handover handover(device);
  const GraphExec exec = CALL(copying(handover.destination, handover.source).instantiate());
  handover.hold_and_fill();
  CALL(handover.consumer.wait_stream(handover.producer));
  CALL(exec.launch(handover.consumer));
  CHECK_STAYS_FALSE(handover.consumer.query() || read(handover.destination) != Bytes(Handover::bytes, 0));
  handover.gate.open();
  CHECK_BYTES(read(handover.consumer, handover.destination), Bytes(Handover::bytes, 2));
}

struct Held {
  std::string label;
  int branches;
  int held;  ///< the branch of the host function
};
const std::vector<Held> held_branches = {{"its only node", 1, 0},
                                         {"the first of two branches", 2, 0},
                                         {"the second of two branches", 2, 1},
                                         {"one of forty branches", 40, 23}};

ANYPLACE_CASES(held_branches, "graphs", "graphs.launch", "later work of the stream waits for {}",
               Capability::host_functions) {
  const Signal open;
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Stream other = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  const Buffer inside = filled(stream, bytes, 0);
  Graph graph(device);
  for (int branch = 0; branch < parameter.branches; ++branch) {
    if (branch == parameter.held) {
      CALL(graph.add_host_function({}, [open] { open.wait(); }));
    } else {
      CALL(graph.add_memset8({}, inside.sub(static_cast<std::uint64_t>(branch) * 64, 64), 3));
    }
  }
  const GraphExec exec = CALL(graph.instantiate());
  CALL(exec.launch(stream));
  const Event event = CALL(stream.record_event());
  CALL(stream.memset8(buffer, 2));
  CALL(other.wait_event(event));
  CHECK_STAYS_FALSE(event.query() || stream.query() || other.query() || read(buffer) != all_of(1));
  open.set();
  CALL(other.synchronize());
  CHECK_BYTES(read(stream, buffer), all_of(2));
}

ANYPLACE_CASE("graphs", "graphs.launch", "launches of one graph on two streams run one after the other",
              Capability::host_functions) {
  HostGate gate;
  const Device device = run.device();
  const Stream first = CALL(Stream(device));
  const Stream second = CALL(Stream(device));
  const Buffer buffer = filled(first, bytes, 0);
  std::atomic<int> calls{0};
  Graph graph(device);
  graph.add_host_function(graph.add_memset8({}, buffer, 7), [&] { ++calls; });
  const GraphExec exec = CALL(graph.instantiate());
  gate.hold(first);
  CALL(exec.launch(first));
  CALL(exec.launch(second));
  CHECK_STAYS_FALSE(second.query() || calls.load() != 0);
  gate.open();
  CALL(second.synchronize());
  CHECK_EQUAL(calls.load(), 2);
  CALL(first.synchronize());
}

ANYPLACE_CASE("graphs", "graphs.launch", "a graph on one stream is not held up by another graph on another",
              Capability::host_functions) {
  HostGate gate;
  const Device device = run.device();
  const Stream held = CALL(Stream(device));
  const Stream stream = CALL(Stream(device));
  const Buffer one = filled(held, bytes, 1);
  const Buffer two = filled(held, bytes, 2);
  const Buffer three = filled(held, bytes, 3);
  const GraphExec first = CALL(copying(one, two).instantiate());
  const GraphExec second = CALL(copying(two, three).instantiate());
  gate.hold(held);
  CALL(first.launch(held));
  CALL(second.launch(stream));
  CALL(stream.synchronize());
  CHECK_BYTES(read(two), all_of(3));
  CHECK_BYTES(read(one), all_of(1));
  gate.open();
  CHECK_BYTES(read(held, one), all_of(3));
}

ANYPLACE_CASE("graphs", "graphs.launch", "an event orders the launches of two graphs on two streams",
              Capability::host_functions) {
  HostGate gate;
  const Device device = run.device();
  const Stream producer = CALL(Stream(device));
  const Stream consumer = CALL(Stream(device));
  const Buffer one = filled(producer, bytes, 1);
  const Buffer two = filled(producer, bytes, 2);
  const Buffer three = filled(producer, bytes, 3);
  const GraphExec first = CALL(copying(two, one).instantiate());
  const GraphExec second = CALL(copying(three, two).instantiate());
  gate.hold(producer);
  CALL(first.launch(producer));
  CALL(consumer.wait_event(producer.record_event()));
  CALL(second.launch(consumer));
  CHECK_STAYS_FALSE(consumer.query() || read(three) != all_of(3));
  gate.open();
  CHECK_BYTES(read(consumer, three), all_of(1));
}

ANYPLACE_CASE("graphs", "graphs.launch", "the null stream launches graphs in its order") {
  const Device device = run.device();
  const StreamView stream = device.default_stream();
  const Buffer source = filled(stream, bytes, 0);
  const Buffer destination = filled(stream, bytes, 0);
  const GraphExec exec = CALL(copying(destination, source).instantiate());
  for (std::uint8_t round = 1; round < 20; ++round) {
    CALL(stream.memset8(source, round));
    CALL(exec.launch(stream));
    CALL(stream.memset8(source, 0));
    CHECK_BYTES(read(stream, destination), all_of(round));
  }
}

ANYPLACE_CASE("graphs", "graphs.launch", "many launches behind each other all run, in their order") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer line = filled(stream, 1024, 0);
  // Each launch moves the line by a byte, from the last byte on, and so shows how many launches there were.
  Graph graph(device);
  const Buffer shadow = filled(stream, 1024, 0);
  const GraphNode saved = graph.add_copy({}, shadow, line);
  graph.add_copy(saved, line.sub(1, 1023), shadow.sub(0, 1023));
  const GraphExec exec = CALL(graph.instantiate());
  CALL(stream.memset8(line.sub(0, 1), 1));
  CALL(exec.launch(stream));
  CALL(stream.memset8(line.sub(0, 1), 0));
  for (int launch = 1; launch < 700; ++launch) CALL(exec.launch(stream));
  Bytes expected(1024, 0);
  expected[700] = 1;
  CHECK_BYTES(read(stream, line), expected);
}

ANYPLACE_CASE("graphs", "graphs.launch", "a host function is called once at each launch, on a thread of the runtime's",
              Capability::host_functions) {
  static thread_local bool is_ours = false;
  is_ours = true;
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  std::atomic<int> calls{0};
  std::atomic<int> on_ours{0};
  // The mutex is locked while the launch is submitted, so a host function that ran inside the call would deadlock.
  std::mutex mutex;
  Graph graph(device);
  CALL(graph.add_host_function({}, [&] {
    const std::lock_guard lock(mutex);
    ++calls;
    on_ours += is_ours ? 1 : 0;
  }));
  const GraphExec exec = CALL(graph.instantiate());
  CHECK_STAYS_FALSE(calls.load() != 0);
  for (int launch = 1; launch <= 5; ++launch) {
    {
      const std::lock_guard lock(mutex);
      CALL(exec.launch(stream));
    }
    CALL(stream.synchronize());
    CHECK_EQUAL(calls.load(), launch);
  }
  CHECK_STAYS_FALSE(calls.load() != 5);
  CHECK_EQUAL(on_ours.load(), 0);
}

ANYPLACE_CASE("graphs", "graphs.launch", "a graph without nodes may be launched, and orders nothing") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  const GraphExec exec = CALL(Graph(device).instantiate());
  CALL(stream.begin_capture());
  const GraphExec captured = CALL(stream.end_capture().instantiate());
  CHECK_EQUAL(captured.size(), 0u);
  CALL(exec.launch(stream));
  CALL(captured.launch(stream));
  CALL(stream.memset8(buffer, 2));
  CHECK_BYTES(read(stream, buffer), all_of(2));
}

ANYPLACE_CASE("graphs", "graphs.launch", "a stream of another device is refused, and both places are named",
              second_device) {
  const Device device = run.device();
  const Device second = run.second();
  const Stream elsewhere = CALL(Stream(second));
  Graph graph(device);
  graph.add_empty({});
  const GraphExec exec = CALL(graph.instantiate());
  const Error error = CHECK_ERROR(invalid_argument, exec.launch(elsewhere));
  CHECK(std::string(error.what()).find(device.to_string()) != std::string::npos);
  CHECK(std::string(error.what()).find(second.to_string()) != std::string::npos);
}

// ---- Faults

ANYPLACE_CASE("graphs", "graphs.faults", "what a host function throws is the fault of the stream of that launch",
              Capability::host_functions) {
  HostGate gate;
  const Device device = run.device();
  const Stream first = CALL(Stream(device));
  const Stream second = CALL(Stream(device));
  const Buffer buffer = filled(first, bytes, 1);
  std::atomic<int> calls{0};
  Graph graph(device);
  const GraphNode before = graph.add_empty({});
  const GraphNode other = graph.add_memset8(before, buffer.sub(0, 64), 2);
  const GraphNode bad = graph.add_host_function(before, [&] {
    if (++calls == 1) throw std::runtime_error("thrown in a graph");
  });
  graph.add_memset8({other, bad}, buffer, 3);
  const GraphExec exec = CALL(graph.instantiate());
  gate.hold(first);
  CALL(exec.launch(first));
  CALL(exec.launch(second));
  gate.open();
  // The fault belongs to the first launch, though the second was submitted before it was thrown.
  CALL(second.synchronize());
  const Error error = CHECK_ERROR(host_function_failed, first.synchronize());
  CHECK(std::string(error.what()).find("thrown in a graph") != std::string::npos);
  CALL(first.synchronize());
  CHECK_EQUAL(calls.load(), 2);
  CHECK_BYTES(read(buffer), all_of(3));
}

ANYPLACE_CASE("graphs", "graphs.faults", "what a callable throws is the stream's fault, and later nodes run",
              Capability::host_kernels) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  const Kernel throws(device, [](const Block&, int number) { throw std::runtime_error(std::to_string(number)); });
  Graph graph(device);
  const GraphNode root = graph.add_empty({});
  const GraphNode bad = graph.add_kernel(root, throws, {}, 4711);
  const GraphNode good = graph.add_memset8(root, buffer.sub(0, 64), 2);
  graph.add_memset8({bad, good}, buffer, 3);
  const GraphExec exec = CALL(graph.instantiate());
  for (int round = 0; round < 3; ++round) {
    CALL(stream.memset8(buffer, 1));
    CALL(exec.launch(stream));
    const Error error = CHECK_ERROR(kernel_failed, stream.synchronize());
    CHECK(std::string(error.what()).find("4711") != std::string::npos);
    CALL(stream.synchronize());
    CHECK_BYTES(read(buffer), all_of(3));
  }
}

}  // namespace
}  // namespace anyplace::conformance::graphs_cases
