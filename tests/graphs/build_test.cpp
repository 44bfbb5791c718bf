// SPDX-License-Identifier: Apache-2.0
// Graphs that are built node by node.
#include "graphs/graph_support.h"

namespace build_test {

using namespace anyplace;
using test::graph_device;
using test::Number;
using test::required_error;
using test::step_kernel;

TEST_CASE("Given a copy between memory of the host then its node makes it at each launch") {
  const Device device = graph_device();
  const Stream stream(device);
  const Buffer buffer(stream, 64);
  std::vector<std::uint8_t> out(64);
  std::vector<std::uint8_t> also(64);
  Graph graph(device);
  const GraphNode filled = graph.add_memset8({}, buffer, 3);
  graph.add_copy(graph.add_copy(filled, out, buffer), HostSpan(also), ConstHostSpan(out));
  const GraphExec exec = graph.instantiate();
  for (int launch = 0; launch < 2; ++launch) {
    also.assign(64, 0);
    exec.launch(stream);
    stream.synchronize();
    REQUIRE(also == std::vector<std::uint8_t>(64, 3));
  }
}

TEST_CASE("Given a copy of no bytes then its node does nothing and others can come after it") {
  const Device device = graph_device();
  const Stream stream(device);
  Graph graph(device);
  int calls = 0;
  const GraphNode nothing = graph.add_copy({}, BufferView(), BufferView());
  graph.add_host_function(nothing, [&] { ++calls; });
  const GraphExec exec = graph.instantiate();
  exec.launch(stream);
  stream.synchronize();
  REQUIRE(calls == 1);
}

TEST_CASE("Given bad arguments of a node then the error is the stream's call's and the graph is as it was") {
  const Device device = graph_device();
  const Stream stream(device);
  const Buffer buffer(stream, 64);
  const Buffer shorter(stream, 32);
  const Kernel step = step_kernel(device);
  Graph graph(device);
  const Error sizes = required_error(ErrorCode::invalid_argument, [&] { graph.add_copy({}, buffer, shorter); });
  CHECK(sizes.operation() == "Graph::add_copy");
  required_error(ErrorCode::invalid_argument, [&] { graph.add_memset16({}, buffer.sub(0, 3), 1); });
  required_error(ErrorCode::invalid_argument, [&] { graph.add_kernel({}, step, {}, buffer); });
  required_error(ErrorCode::invalid_argument, [&] {
    graph.add_kernel({}, step, {0, 1}, buffer, std::uint64_t{1}, std::uint64_t{1});
  });
  required_error(ErrorCode::invalid_argument, [&] { graph.add_host_function({}, nullptr); });
  REQUIRE(graph.size() == 0);
  graph.instantiate().launch(stream);
  stream.synchronize();
}

TEST_CASE("Given nodes of another graph, cycles and null graphs then each is refused with what is wrong") {
  const Device device = graph_device();
  Graph graph(device);
  Graph other(device);
  const GraphNode a = graph.add_empty({});
  const GraphNode b = graph.add_empty(a);
  const GraphNode c = graph.add_empty({});
  const GraphNode foreign = other.add_empty({});
  required_error(ErrorCode::invalid_argument, [&] { graph.add_empty(foreign); });
  required_error(ErrorCode::invalid_argument, [&] { graph.add_empty(GraphNode()); });
  CHECK_THAT(required_error(ErrorCode::invalid_argument, [&] { graph.add_dependency(b, a); }).what(),
             Catch::Contains("cycle"));
  CHECK_THAT(required_error(ErrorCode::invalid_argument, [&] { graph.add_dependency(a, a); }).what(),
             Catch::Contains("cycle"));
  CHECK_THAT(required_error(ErrorCode::invalid_argument, [&] { graph.add_dependency(c, b); }).what(),
             Catch::Contains("added after"));
  CHECK_THAT(required_error(ErrorCode::invalid_argument, [&] { graph.add_child_graph({}, graph); }).what(),
             Catch::Contains("cycle"));
  graph.add_dependency(b, c);
  REQUIRE(graph.nodes()[2].dependencies == std::vector<GraphNode>{b});
  const Graph moved = std::move(graph);
  required_error(ErrorCode::invalid_handle, [&] { static_cast<void>(graph.size()); });
  required_error(ErrorCode::invalid_handle, [&] { static_cast<void>(GraphExec().size()); });
}

TEST_CASE("Given a graph that was captured then what comes after its last nodes comes after all of it") {
  const Device device = graph_device();
  const Stream stream(device), branch(device);
  const Number left(device, 1), right(device, 2);
  const Kernel step = step_kernel(device);
  stream.begin_capture();
  branch.wait_event(stream.record_event());
  stream.launch(step, {}, left.buffer, std::uint64_t{10}, std::uint64_t{1});
  branch.launch(step, {}, right.buffer, std::uint64_t{10}, std::uint64_t{2});
  stream.wait_stream(branch);
  Graph graph = stream.end_capture();
  const std::vector<GraphNode> last = graph.last_nodes();
  REQUIRE(last.size() == 2);
  const Kernel add = Kernel(device, [](const Block&, std::uint64_t* to, const std::uint64_t* from) { *to += *from; });
  const GraphNode added = graph.add_kernel(last, add, {}, left.buffer, right.buffer);
  CHECK(graph.last_nodes() == std::vector<GraphNode>{added});
  const std::vector<GraphNodeInfo> nodes = graph.nodes();
  CHECK(nodes.back().node == added);
  CHECK(nodes.back().dependencies == last);
  graph.instantiate().launch(stream);
  stream.synchronize();
  CHECK(left.get() == 11 + 22);
  CHECK(Graph(device).last_nodes().empty());
  CHECK(required_error(ErrorCode::invalid_handle, [] { static_cast<void>(Graph().last_nodes()); }).operation() ==
        "Graph::last_nodes");
}

TEST_CASE("Given a graph then its description for Graphviz names nodes, labels and dependencies") {
  const Device device = graph_device();
  const Stream stream(device);
  const Buffer buffer(stream, 64);
  Graph graph(device);
  const GraphNode first = graph.add_memset32({}, buffer, 1);
  graph.add_copy(first, buffer.sub(0, 32), buffer.sub(32, 32));
  const std::string dot = graph.to_dot();
  CHECK_THAT(dot, Catch::StartsWith("digraph"));
  CHECK_THAT(dot, Catch::Contains("n0 [label=\"0: memset32 of 64 bytes\"]"));
  CHECK_THAT(dot, Catch::Contains("n1 [label=\"1: copy of 32 bytes within the device\"]"));
  CHECK_THAT(dot, Catch::Contains("n0 -> n1;"));
}

TEST_CASE("Given nodes on two devices of a backend then the graph runs on both in the order of its dependencies") {
  const Device device = graph_device();
  const Device second(device.place().backend() + ":1");
  const Stream stream(device);
  const Buffer here(stream, 4096);
  const Stream there_stream(second);
  const Buffer there(there_stream, 4096);
  std::vector<std::uint8_t> out(4096);
  Graph graph(device);
  const GraphNode set = graph.add_memset8({}, there, 77);
  const GraphNode copied = graph.add_copy(set, here, there);
  graph.add_copy(copied, out, here);
  const GraphExec exec = graph.instantiate();
  exec.launch(stream);
  stream.synchronize();
  REQUIRE(std::all_of(out.begin(), out.end(), [](std::uint8_t byte) { return byte == 77; }));
  REQUIRE(graph.nodes()[0].device == second);
}

}  // namespace build_test
