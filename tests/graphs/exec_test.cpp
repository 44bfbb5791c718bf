// SPDX-License-Identifier: Apache-2.0
// Executable graphs: updates that are refused, launches without nodes, and events that a graph records and waits for.
#include <thread>

#include "graphs/graph_support.h"

namespace exec_test {

using namespace anyplace;
using test::graph_device;
using test::HostGate;
using test::Number;
using test::required_error;
using test::step_kernel;

Graph chain(const Device& device, const Kernel& step, const Buffer& number,
            std::initializer_list<std::uint64_t> digits) {
  Graph graph(device);
  GraphNode last = graph.add_empty({});
  for (const std::uint64_t digit : digits) last = graph.add_kernel(last, step, {}, number, std::uint64_t{10}, digit);
  return graph;
}

TEST_CASE("Given an update with other nodes then it names the node and changes nothing") {
  const Device device = graph_device();
  const Stream stream(device);
  const Number number(device, 0);
  const Kernel step = step_kernel(device);
  const GraphExec exec = chain(device, step, number.buffer, {1, 2}).instantiate();
  SECTION("another kind") {
    Graph other(device);
    const GraphNode first = other.add_empty({});
    const GraphNode second = other.add_kernel(first, step, {}, number.buffer, std::uint64_t{1}, std::uint64_t{1});
    other.add_memset8(second, number.buffer, 0);
    CHECK_THAT(required_error(ErrorCode::invalid_argument, [&] { exec.update(other); }).what(),
               Catch::Contains("node 2 is a memset node, and was a kernel node"));
  }
  SECTION("another dependency") {
    Graph other(device);
    const GraphNode first = other.add_empty({});
    other.add_kernel(first, step, {}, number.buffer, std::uint64_t{1}, std::uint64_t{1});
    other.add_kernel(first, step, {}, number.buffer, std::uint64_t{1}, std::uint64_t{1});
    CHECK_THAT(required_error(ErrorCode::invalid_argument, [&] { exec.update(other); }).what(),
               Catch::Contains("node 2 comes after nodes 0"));
  }
  SECTION("more nodes") {
    CHECK_THAT(required_error(ErrorCode::invalid_argument,
                              [&] {
                                exec.update(chain(device, step, number.buffer, {1, 2, 3}));
                              })
                   .what(),
               Catch::Contains("4 nodes"));
  }
  exec.launch(stream);
  stream.synchronize();
  REQUIRE(number.get() == 12);
}

TEST_CASE("Given a graph without nodes then its launches are ordered across streams as others are") {
  const Device device = graph_device();
  const Stream first(device);
  const Stream second(device);
  const Stream third(device);
  const GraphExec exec = Graph(device).instantiate();
  HostGate gate;
  gate.block(first);
  exec.launch(first);
  exec.launch(second);
  exec.launch(third);
  gate.wait_until_reached();
  for (int i = 0; i < 1000; ++i) {
    REQUIRE_FALSE(second.query());
    REQUIRE_FALSE(third.query());
    std::this_thread::yield();
  }
  gate.open();
  third.synchronize();
  CHECK(second.query());
}

TEST_CASE("Given a graph that records an event and waits for it then the wait is for the record of before the launch") {
  const Device device = graph_device();
  const Stream stream(device);
  const Stream other(device);
  const Buffer buffer(stream, 256);
  const Event event(device);
  const bool in_one_branch = GENERATE(false, true);
  Graph graph(device);
  const GraphNode recorded = graph.add_event_record({}, event);
  const GraphNode waited = in_one_branch ? graph.add_event_wait(recorded, event) : graph.add_event_wait({}, event);
  graph.add_memset8(waited, buffer, 1);
  const GraphExec exec = graph.instantiate();
  for (int launch = 0; launch < 2; ++launch) {
    HostGate gate;
    gate.block(other);
    event.record(other);
    exec.launch(stream);
    gate.wait_until_reached();
    for (int i = 0; i < 1000; ++i) {
      REQUIRE_FALSE(stream.query());
      std::this_thread::yield();
    }
    gate.open();
    stream.synchronize();
  }
}

}  // namespace exec_test
