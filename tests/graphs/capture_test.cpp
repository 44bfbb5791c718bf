// SPDX-License-Identifier: Apache-2.0
// What a capture makes of the calls on its streams: kinds of nodes, dependencies, events of inside and outside.
#include "graphs/graph_support.h"

namespace capture_test {

using namespace anyplace;
using test::graph_device;
using test::HostGate;
using test::Number;
using test::step_kernel;

TEST_CASE("Given every kind of work in a capture then the graph does it at each launch") {
  const Device device = graph_device();
  const Stream stream(device);
  const Buffer first(stream, 64);
  const Buffer second(stream, 64);
  std::vector<std::uint8_t> in(64);
  std::vector<std::uint8_t> out(64);
  std::vector<std::uint8_t> lines(16);
  int calls = 0;
  stream.begin_capture();
  stream.copy(first, in);
  stream.copy(second, first);
  stream.memset8(second.sub(0, 4), 7);
  stream.memset16(second.sub(4, 4), 0x0908);
  stream.memset32(second.sub(8, 4), 0x0d0c0b0a);
  stream.copy_2d(lines, 4, second, 16, 4, 4);
  stream.copy(out, second);
  stream.launch_host_func([&calls] { ++calls; });
  const Graph graph = stream.end_capture();
  const GraphExec exec = graph.instantiate();
  for (std::uint8_t round = 1; round <= 2; ++round) {
    std::fill(in.begin(), in.end(), round);
    exec.launch(stream);
    stream.synchronize();
    REQUIRE(calls == round);
    const std::vector<std::uint8_t> head = {7, 7, 7, 7, 8, 9, 8, 9, 10, 11, 12, 13};
    REQUIRE(std::vector<std::uint8_t>(out.begin(), out.begin() + 12) == head);
    REQUIRE(std::all_of(out.begin() + 12, out.end(), [&](std::uint8_t byte) { return byte == round; }));
    REQUIRE(lines[0] == 7);
    REQUIRE(lines[4] == round);
  }
  REQUIRE(graph.count(GraphNodeKind::copy) >= 4);
  REQUIRE(graph.count(GraphNodeKind::memset) == 3);
  REQUIRE(graph.count(GraphNodeKind::host_function) == 1);
}

TEST_CASE("Given a stream that waits for an event of a capture then it joins it and the order between them holds") {
  const Device device = graph_device();
  const Stream origin(device);
  const Stream branch(device);
  const Number left(device, 1);
  const Number right(device, 1);
  const Number beside(device, 1);  // what the origin does while the branch reads `left`
  const Kernel step = step_kernel(device);
  const Kernel add = Kernel(device, [](const Block&, std::uint64_t* to, const std::uint64_t* from) { *to += *from; });
  origin.begin_capture();
  origin.launch(step, {}, left.buffer, std::uint64_t{0}, std::uint64_t{5});
  branch.wait_event(origin.record_event());
  REQUIRE(branch.is_capturing());
  branch.launch(add, {}, right.buffer, left.buffer);
  origin.launch(step, {}, beside.buffer, std::uint64_t{3}, std::uint64_t{1});
  origin.wait_stream(branch);
  origin.launch(add, {}, left.buffer, right.buffer);
  const Graph graph = origin.end_capture();
  REQUIRE_FALSE(branch.is_capturing());
  REQUIRE(graph.size() == 4);
  const std::vector<GraphNodeInfo> nodes = graph.nodes();
  REQUIRE(nodes[0].dependencies.empty());
  REQUIRE(nodes[1].dependencies.size() == 1);
  REQUIRE(nodes[1].dependencies[0].index() == 0);
  REQUIRE(nodes[2].dependencies[0].index() == 0);
  REQUIRE(nodes[3].dependencies.size() == 2);
  const GraphExec exec = graph.instantiate();
  exec.launch(origin);
  origin.synchronize();
  REQUIRE(right.get() == 6);
  REQUIRE(beside.get() == 4);
  REQUIRE(left.get() == 11);
}

TEST_CASE(
    "Given an event that was recorded in a capture when it is recorded again outside then it is an event as ever") {
  const Device device = graph_device();
  const Stream stream(device);
  const Event event(device);
  stream.begin_capture();
  event.record(stream);
  static_cast<void>(stream.end_capture());
  test::required_error(ErrorCode::capturing, [&] { static_cast<void>(event.query()); });
  test::required_error(ErrorCode::capturing, [&] { stream.wait_event(event); });
  HostGate gate;
  gate.block(stream);
  event.record(stream);
  REQUIRE_FALSE(event.query());
  gate.open();
  event.synchronize();
  REQUIRE(event.query());
}

TEST_CASE("Given a wait for an event that was never recorded in a capture then it is no wait") {
  const Device device = graph_device();
  const Stream stream(device);
  const Event event(device);
  stream.begin_capture();
  stream.wait_event(event);
  REQUIRE(stream.end_capture().size() == 0);
}

TEST_CASE("Given external events in a capture then they are recorded and waited for at each launch") {
  const Device device = graph_device();
  const Stream stream(device);
  const Stream other(device);
  const Event begins(device);
  const Event ends(device);
  const Number number(device, 0);
  const Kernel step = step_kernel(device);
  stream.begin_capture();
  stream.wait_external_event(begins);
  stream.launch(step, {}, number.buffer, std::uint64_t{1}, std::uint64_t{1});
  stream.record_external_event(ends);
  const Graph graph = stream.end_capture();
  REQUIRE(graph.count(GraphNodeKind::event_wait) == 1);
  REQUIRE(graph.count(GraphNodeKind::event_record) == 1);
  const GraphExec exec = graph.instantiate();
  HostGate gate;
  gate.block(other);
  begins.record(other);
  exec.launch(stream);
  REQUIRE_FALSE(ends.query());
  gate.open();
  ends.synchronize();
  REQUIRE(number.get() == 1);
  exec.launch(stream);
  ends.synchronize();
  REQUIRE(number.get() == 2);
}

}  // namespace capture_test
