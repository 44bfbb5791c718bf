// SPDX-License-Identifier: Apache-2.0
// Threads that capture, end, launch, build and destroy at the same time: nothing is lost, and nothing done twice.
#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "graphs/graph_support.h"

namespace races_test {

using namespace anyplace;
using test::graph_device;
using test::Number;
using test::step_kernel;

constexpr std::uint64_t one = 1;

void run_at_once(const std::vector<std::function<void()>>& bodies) {
  std::vector<std::thread> threads;
  for (const std::function<void()>& body : bodies) threads.emplace_back(body);
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("Given threads that submit while a capture begins and ends then each call is a node or runs") {
  const Device device = graph_device();
  const Stream stream(device);
  const Number number(device, 0);
  const Kernel step = step_kernel(device);
  constexpr std::uint64_t calls = 400;
  std::atomic<std::uint64_t> nodes{0};
  std::atomic<int> submitting{2};
  const auto submit = [&] {
    for (std::uint64_t i = 0; i < calls; ++i) stream.launch(step, {}, number.buffer, one, one);
    --submitting;
  };
  const auto capture = [&] {
    while (submitting != 0) {
      stream.begin_capture(CaptureMode::relaxed);
      std::this_thread::yield();
      nodes += stream.end_capture().size();
    }
  };
  run_at_once({submit, submit, capture});
  stream.synchronize();
  REQUIRE(number.get() + nodes == 2 * calls);
}

TEST_CASE("Given a thread that launches while a capture begins and ends then each launch is a node or runs") {
  const Device device = graph_device();
  const Stream stream(device);
  const Number number(device, 0);
  const Number branch(device, 0);
  const Kernel step = step_kernel(device);
  Graph graph(device);
  graph.add_kernel(graph.add_kernel({}, step, {}, number.buffer, one, one), step, {}, number.buffer, one, one);
  graph.add_kernel({}, step, {}, branch.buffer, one, one);
  const GraphExec exec = graph.instantiate();
  constexpr std::uint64_t launches = 400;
  std::atomic<std::uint64_t> nodes{0};
  std::atomic<std::uint64_t> others{0};
  std::atomic<bool> done{false};
  const auto launch = [&] {
    for (std::uint64_t i = 0; i < launches; ++i) exec.launch(stream);
    done = true;
  };
  const auto capture = [&] {
    while (!done) {
      stream.begin_capture(CaptureMode::relaxed);
      std::this_thread::yield();
      const Graph captured = stream.end_capture();
      nodes += captured.size();
      others += captured.size() - captured.count(GraphNodeKind::child_graph);
    }
  };
  run_at_once({launch, capture});
  stream.synchronize();
  REQUIRE(others == 0);
  REQUIRE(number.get() == 2 * (launches - nodes));
  REQUIRE(branch.get() == launches - nodes);
}

TEST_CASE("Given streams that are destroyed while a capture begins on them then none is left") {
  const Device device = graph_device();
  const Stream other(device);
  for (int round = 0; round < 200; ++round) {
    std::optional<Stream> stream(std::in_place, device);
    const StreamView view = *stream;
    const auto begin = [&] {
      try {
        view.begin_capture();
      } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_handle) throw;
      }
    };
    run_at_once({begin, [&] { stream.reset(); }});
    // Refused during a capture.
    const Buffer buffer(other, 64);
    device.synchronize();
  }
}

TEST_CASE("Given a stream that joins while its capture ends then it is captured no more") {
  const Device device = graph_device();
  const Stream origin(device);
  const Stream joining(device);
  for (int round = 0; round < 200; ++round) {
    const Event event(device);
    origin.begin_capture(CaptureMode::relaxed);
    event.record(origin);
    const auto join = [&] {
      try {
        joining.wait_event(event);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::capturing) throw;
      }
    };
    run_at_once({join, [&] { static_cast<void>(origin.end_capture()); }});
    REQUIRE_FALSE(joining.is_capturing());
    joining.synchronize();
  }
}

TEST_CASE("Given threads that add nodes to one graph then it has them all") {
  const Device device = graph_device();
  const Stream stream(device);
  const Number number(device, 0);
  const Kernel step = step_kernel(device);
  Graph graph(device);
  std::vector<std::vector<GraphNode>> nodes(4);
  std::vector<std::function<void()>> bodies;
  for (std::vector<GraphNode>& mine : nodes) {
    bodies.emplace_back([&] {
      for (int i = 0; i < 100; ++i) mine.push_back(graph.add_empty(mine));
    });
  }
  bodies.emplace_back([&] {
    while (graph.size() < 400) static_cast<void>(graph.instantiate());
  });
  run_at_once(bodies);
  REQUIRE(graph.size() == 400);
  std::vector<GraphNode> last;
  for (const std::vector<GraphNode>& mine : nodes) last.push_back(mine.back());
  graph.add_kernel(last, step, {}, number.buffer, one, one);
  const GraphExec exec = graph.instantiate();
  exec.launch(stream);
  stream.synchronize();
  REQUIRE(number.get() == 1);
}

TEST_CASE("Given a graph that is instantiated on one thread then others launch and destroy it") {
  const Device device = graph_device();
  const Number number(device, 0);
  const Kernel step = step_kernel(device);
  Graph graph(device);
  graph.add_kernel(graph.add_empty({}), step, {}, number.buffer, one, one);
  for (int round = 0; round < 50; ++round) {
    auto exec = std::make_shared<const GraphExec>(graph.instantiate());
    const Stream first(device);
    const Stream second(device);
    std::vector<std::function<void()>> bodies;
    for (const Stream* stream : {&first, &second}) {
      bodies.emplace_back([exec, stream]() mutable {
        exec->launch(*stream);
        exec.reset();
      });
    }
    exec.reset();
    run_at_once(bodies);
    device.synchronize();
  }
  REQUIRE(number.get() == 100);
}

TEST_CASE("Given graphs that are nested 3000 deep then they are launched and go as others do") {
  const Device device = graph_device();
  const Stream stream(device);
  const Number number(device, 0);
  const Kernel step = step_kernel(device);
  Graph graph(device);
  graph.add_kernel({}, step, {}, number.buffer, one, one);
  for (int depth = 0; depth < 3000; ++depth) {
    Graph outer(device);
    outer.add_child_graph(outer.add_child_graph({}, Graph(device)), graph);
    graph = std::move(outer);
  }
  const GraphExec exec = graph.instantiate();
  REQUIRE(exec.size() == 1);
  exec.launch(stream);
  stream.synchronize();
  REQUIRE(number.get() == 1);
}

TEST_CASE("Given a graph of 20000 nodes then each launch has all of them, in their order") {
  const Device device = graph_device();
  const Stream stream(device);
  const Number number(device, 0);
  const Kernel step = step_kernel(device);
  stream.begin_capture();
  for (int i = 0; i < 20000; ++i) stream.launch(step, {}, number.buffer, one, one);
  const Graph graph = stream.end_capture();
  REQUIRE(graph.size() == 20000);
  const GraphExec exec = graph.instantiate();
  exec.launch(stream);
  exec.launch(stream);
  stream.synchronize();
  REQUIRE(number.get() == 40000);
}

}  // namespace races_test
