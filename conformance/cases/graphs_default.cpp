// SPDX-License-Identifier: Apache-2.0
//
// Graphs and the null stream: a launch is work of its stream, so the rule between the null stream and blocking streams
// holds for all of it, in both directions, and for no other stream.
#include "support.h"

namespace anyplace::conformance::graphs_default_cases {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t bytes = 1 << 16;

Bytes all_of(std::uint8_t value) { return Bytes(bytes, value); }

Graph copying(const Buffer& destination, const Buffer& source) {
  Graph graph(destination.device());
  graph.add_copy(graph.add_empty({}), destination, source);
  return graph;
}

/// The null stream and a blocking stream; the parameter says which of them launches.
struct Side {
  std::string label;
  bool null_launches;
};

struct TwoStreams {
  TwoStreams(const Device& device, bool null_launches)
      : blocking(CALL(Stream(device, {.blocking = true}))),
        launcher(null_launches ? device.default_stream() : blocking.view()),
        other(null_launches ? blocking.view() : device.default_stream()) {}

  Stream blocking;
  StreamView launcher;
  StreamView other;
};

const std::vector<Side> launches_after = {{"a blocking stream waits for earlier work of the default stream", false},
                                          {"the default stream waits for earlier work of a blocking stream", true}};

ANYPLACE_CASES(launches_after, "graphs", "graphs.launch", "a launch on {}", Capability::blocking_streams,
               Capability::host_functions) {
  const Device device = run.device();
  for (int round = 0; round < 2; ++round) {
    HostGate gate;
    const TwoStreams streams(device, parameter.null_launches);
    const Buffer source = filled(streams.other, bytes, 1);
    const Buffer destination = filled(streams.launcher, bytes, 0);
    const GraphExec exec = CALL(copying(destination, source).instantiate());
    gate.hold(streams.other);
    CALL(streams.other.memset8(source, 2));
    // In the second round the stream already has a launch pending.
    for (int launch = 0; launch <= round; ++launch) CALL(exec.launch(streams.launcher));
    CHECK_STAYS_FALSE(streams.launcher.query() || read(destination) != all_of(0));
    gate.open();
    CHECK_BYTES(read(streams.launcher, destination), all_of(2));
  }
}

const std::vector<Side> launches_before = {
    {"the default stream waits for an earlier launch on a blocking stream", false},
    {"a blocking stream waits for an earlier launch on the default stream", true}};

ANYPLACE_CASES(launches_before, "graphs", "graphs.launch", "work of {}, each branch of it",
               Capability::blocking_streams, Capability::host_functions) {
  const Device device = run.device();
  for (int held = 0; held < 2; ++held) {
    const Signal open;
    const struct AtEnd {  // a case that fails must leave no waiting work
      const Signal& open;
      ~AtEnd() { open.set(); }
    } at_end{open};
    const TwoStreams streams(device, parameter.null_launches);
    const Buffer source = filled(streams.launcher, bytes, 1);
    const Buffer spare = filled(streams.launcher, bytes, 1);
    const Buffer destination = filled(streams.other, bytes, 0);
    Graph graph(device);
    for (int branch = 0; branch < 2; ++branch) {
      const GraphNode first =
          branch == held ? graph.add_host_function({}, [open] { open.wait(); }) : graph.add_empty({});
      graph.add_memset8(first, branch == held ? source : spare, 2);
    }
    const GraphExec exec = CALL(graph.instantiate());
    CALL(exec.launch(streams.launcher));
    const Event event = CALL(streams.other.record_event());
    CALL(streams.other.copy(destination, source));
    CHECK_STAYS_FALSE(event.query() || streams.other.query() || read(destination) != all_of(0));
    open.set();
    CHECK_BYTES(read(streams.other, destination), all_of(2));
    CALL(streams.launcher.synchronize());
  }
}

ANYPLACE_CASE("graphs", "graphs.launch", "a launch on the default stream waits for every blocking stream",
              Capability::blocking_streams, Capability::host_functions) {
  const Device device = run.device();
  const StreamView null = CALL(device.default_stream());
  const Buffer source = filled(null, bytes, 1);
  const Buffer destination = filled(null, bytes, 0);
  const GraphExec exec = CALL(copying(destination, source).instantiate());
  for (std::size_t held = 0; held < 3; ++held) {
    HostGate gate;
    std::vector<Stream> streams;
    for (int i = 0; i < 3; ++i) streams.push_back(CALL(Stream(device, {.blocking = true})));
    CALL(null.memset8(destination, 0));
    CALL(null.synchronize());
    gate.hold(streams[held]);
    CALL(exec.launch(null));
    CHECK_STAYS_FALSE(null.query() || read(destination) != all_of(0));
    gate.open();
    CHECK_BYTES(read(null, destination), all_of(1));
  }
}

ANYPLACE_CASE("graphs", "graphs.launch", "launches on a stream that isn't blocking pass by the default stream's work",
              Capability::host_functions) {
  const Device device = run.device();
  const StreamView null = CALL(device.default_stream());
  const Stream free = CALL(Stream(device));
  const Buffer source = filled(null, bytes, 1);
  for (const bool null_launches : {false, true}) {
    HostGate gate;
    const StreamView held = null_launches ? free.view() : null;
    const StreamView launcher = null_launches ? null : free.view();
    const Buffer destination = filled(null, bytes, 0);
    const GraphExec exec = CALL(copying(destination, source).instantiate());
    gate.hold(held);
    CALL(exec.launch(launcher));
    CHECK(CALL(launcher.synchronize(1h)));
    CHECK(!held.query());
    CHECK_BYTES(read(destination), all_of(1));
    gate.open();
    CALL(held.synchronize());
  }
}

ANYPLACE_CASE("graphs", "graphs.launch", "the rule of the default stream holds for launches again and again",
              Capability::blocking_streams) {
  const Device device = run.device();
  const StreamView null = CALL(device.default_stream());
  const Stream first = CALL(Stream(device, {.blocking = true}));
  const Stream second = CALL(Stream(device, {.blocking = true}));
  const Bytes contents = pattern(1 << 18);
  std::vector<Buffer> buffers;
  std::vector<GraphExec> execs;
  buffers.push_back(upload(null, contents));
  for (int i = 0; i < 40; ++i) {
    buffers.push_back(filled(null, contents.size(), 0));
    execs.push_back(CALL(copying(buffers.back(), buffers[buffers.size() - 2]).instantiate()));
  }
  for (std::size_t i = 0; i < execs.size(); ++i) {
    CALL(execs[i].launch(i % 4 == 1 ? first.view() : i % 4 == 3 ? second.view() : null));
  }
  CALL(device.synchronize());
  CHECK_BYTES(read(buffers.back()), contents);
}

}  // namespace
}  // namespace anyplace::conformance::graphs_default_cases
