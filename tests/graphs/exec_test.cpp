// SPDX-License-Identifier: Apache-2.0
// Executable graphs: launches, updates, faults, and what is left when one goes.
#include <future>
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

TEST_CASE("Given a launch then it is in the stream's order, before and after") {
  const Device device = graph_device();
  const Stream stream(device);
  const Number number(device, 0);
  const Kernel step = step_kernel(device);
  const GraphExec exec = chain(device, step, number.buffer, {2, 3}).instantiate();
  HostGate gate;
  gate.block(stream);
  stream.launch(step, {}, number.buffer, std::uint64_t{10}, std::uint64_t{1});
  exec.launch(stream);
  stream.launch(step, {}, number.buffer, std::uint64_t{10}, std::uint64_t{4});
  REQUIRE_FALSE(stream.query());
  gate.open();
  stream.synchronize();
  REQUIRE(number.get() == 1234);
}

TEST_CASE("Given launches of one graph on several streams then they run one after the other") {
  const Device device = graph_device();
  const Stream first(device);
  const Stream second(device);
  const Number number(device, 0);
  const Kernel step = step_kernel(device);
  const GraphExec exec = chain(device, step, number.buffer, {1, 2}).instantiate();
  HostGate gate;
  gate.block(first);
  exec.launch(first);
  exec.launch(second);
  REQUIRE_FALSE(second.query());
  gate.open();
  second.synchronize();
  REQUIRE(number.get() == 1212);
  first.synchronize();
}

TEST_CASE("Given a stream of another device then a launch is refused and says both places") {
  const Device device = graph_device();
  const Device second(device.place().backend() + ":1");
  const Stream elsewhere(second);
  const Stream stream(device);
  Graph graph(device);
  graph.add_host_function({}, [] {});
  const GraphExec exec = graph.instantiate();
  const Error error = required_error(ErrorCode::invalid_argument, [&] { exec.launch(elsewhere); });
  CHECK_THAT(error.what(), Catch::Contains(device.to_string()) && Catch::Contains(second.to_string()));
}

TEST_CASE("Given an update then later launches have the new work and earlier ones the old") {
  const Device device = graph_device();
  const Stream stream(device);
  const Number number(device, 0);
  const Kernel step = step_kernel(device);
  const GraphExec exec = chain(device, step, number.buffer, {1, 2}).instantiate();
  HostGate gate;
  gate.block(stream);
  exec.launch(stream);
  exec.update(chain(device, step, number.buffer, {3, 4}));
  exec.launch(stream);
  gate.open();
  stream.synchronize();
  REQUIRE(number.get() == 1234);
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

TEST_CASE(
    "Given a host function or a kernel of a graph that throws then it is the stream's fault and later nodes run") {
  const Device device = graph_device();
  const Stream stream(device);
  const Number number(device, 0);
  const Kernel step = step_kernel(device);
  Graph graph(device);
  const bool in_branch = GENERATE(false, true);
  GraphNode root = graph.add_empty({});
  GraphNode other = graph.add_memset8(root, number.buffer, 0);
  const GraphNode from = in_branch ? root : other;
  SECTION("a host function") {
    const GraphNode bad = graph.add_host_function(from, [] { throw std::runtime_error("thrown in a graph"); });
    graph.add_kernel({bad, other}, step, {}, number.buffer, std::uint64_t{1}, std::uint64_t{5});
  }
  SECTION("a kernel") {
    const Kernel throws(device, [](const Block&, int) { throw std::runtime_error("thrown in a graph"); });
    const GraphNode bad = graph.add_kernel(from, throws, {}, 1);
    graph.add_kernel({bad, other}, step, {}, number.buffer, std::uint64_t{1}, std::uint64_t{5});
  }
  const GraphExec exec = graph.instantiate();
  for (int round = 0; round < 2; ++round) {
    number.set(1);
    exec.launch(stream);
    const Error error = required_error([&] { stream.synchronize(); });
    CHECK_THAT(error.what(), Catch::Contains("thrown in a graph"));
    stream.synchronize();
    REQUIRE(number.get() == 5);
  }
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

TEST_CASE("Given a graph that goes while its launch is pending then the launch completes and what it owns goes after") {
  const Device device = graph_device();
  const Stream stream(device);
  const auto alive = std::make_shared<int>(0);
  HostGate gate;
  {
    Graph graph(device);
    const GraphNode first = graph.add_host_function({}, [alive] { ++*alive; });
    graph.add_host_function(first, [alive] { ++*alive; });
    const GraphExec exec = graph.instantiate();
    gate.block(stream);
    exec.launch(stream);
  }
  REQUIRE(alive.use_count() > 1);
  gate.open();
  stream.synchronize();
  REQUIRE(*alive == 2);
  while (alive.use_count() > 1) std::this_thread::yield();
}

TEST_CASE("Given many threads that launch and update one graph then each launch is whole") {
  const Device device = graph_device();
  const Number number(device, 0);
  const Kernel step = step_kernel(device);
  const auto twice = [&] {
    Graph graph(device);
    const GraphNode first = graph.add_kernel({}, step, {}, number.buffer, std::uint64_t{1}, std::uint64_t{1});
    graph.add_kernel(first, step, {}, number.buffer, std::uint64_t{1}, std::uint64_t{1});
    return graph;
  };
  const GraphExec exec = twice().instantiate();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const Stream stream(device);
      for (int i = 0; i < 50; ++i) {
        exec.launch(stream);
        if (t == 0 && i % 10 == 0) exec.update(twice());
      }
      stream.synchronize();
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(number.get() == 4 * 50 * 2);
}

}  // namespace exec_test
