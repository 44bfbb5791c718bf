// SPDX-License-Identifier: Apache-2.0
//
// Graphs where something fails or has to wait: entries that fail in the middle of a launch, a device that is lost,
// streams that the core holds back. On cpu_sim's table with things taken away (streams/plugins/forward.h): `replayed`
// has no graphs of its own, `native` has cpu_sim's.
#include <atomic>
#include <stdexcept>
#include <thread>

#include "graphs/graph_support.h"
#include "streams/plugins/forward.h"

namespace failures_test {

using namespace anyplace;
using test::code_of;
using test::HostGate;
using test::Number;
using test::required_error;
using test::step_kernel;

constexpr std::uint64_t one = 1;

/// Work that says what it knows of its order: digits behind a branch.
Graph branched(const Device& device, const Kernel& step, const Buffer& number, const Buffer& aside,
               std::uint64_t digit) {
  Graph graph(device);
  const GraphNode first = graph.add_kernel({}, step, {}, number, std::uint64_t{10}, digit);
  std::vector<GraphNode> branches;
  for (std::uint64_t i = 0; i < 4; ++i) branches.push_back(graph.add_memset8(first, aside.sub(i * 64, 64), 1));
  graph.add_kernel(branches, step, {}, number, std::uint64_t{10}, digit + 1);
  return graph;
}

TEST_CASE("Given an entry that fails in the middle of a launch then the launch says so and the next is whole") {
  test::Forward& forward = test::new_forward();
  forward.install("replayed");
  const Device device("replayed:0");
  const Stream stream(device);
  const Number number(device, 0);
  const Buffer aside(stream, 256);
  const Kernel step = step_kernel(device);
  int failures = 0;
  for (int submissions = 0; submissions < 40; ++submissions) {
    const GraphExec exec = branched(device, step, number.buffer, aside, 1).instantiate();
    HostGate gate;
    gate.block(stream);
    forward.fail_after = submissions;
    forward.fail_next = ANYPLACE_STATUS_BACKEND_FAILED;
    failures += code_of([&] { exec.launch(stream); }) == ErrorCode::backend_failed ? 1 : 0;
    forward.fail_next = 0;
    gate.open();
    stream.synchronize();
    number.set(0);
    exec.launch(stream);
    stream.synchronize();
    REQUIRE(number.get() == 12);
    // The graph goes with a part of a launch pending.
    HostGate again;
    again.block(stream);
    forward.fail_after = submissions;
    forward.fail_next = ANYPLACE_STATUS_BACKEND_FAILED;
    static_cast<void>(code_of([&] { exec.launch(stream); }));
    forward.fail_next = 0;
  }
  stream.synchronize();
  REQUIRE(failures > 10);
}

TEST_CASE("Given a launch that failed half-way then a launch on another stream is behind what was submitted of it") {
  test::Forward& forward = test::new_forward();
  forward.install("replayed");
  const Device device("replayed:0");
  const Stream first(device);
  const Stream second(device);
  const Number number(device, 0);
  const Buffer aside(first, 256);
  const Kernel step = step_kernel(device);
  const GraphExec exec = branched(device, step, number.buffer, aside, 1).instantiate();
  HostGate gate;
  gate.block(first);
  forward.fail_after = 6;
  forward.fail_next = ANYPLACE_STATUS_BACKEND_FAILED;
  REQUIRE(code_of([&] { exec.launch(first); }) == ErrorCode::backend_failed);
  forward.fail_next = 0;
  exec.update(branched(device, step, number.buffer, aside, 3));
  exec.launch(second);
  REQUIRE_FALSE(second.query());
  gate.open();
  second.synchronize();
  REQUIRE(number.get() % 100 == 34);
}

TEST_CASE("Given a device that is lost then its graphs say so at once, and go") {
  const std::string name = GENERATE(as<std::string>{}, "native", "replayed");
  test::Forward& forward = test::new_forward();
  forward.install(name);
  const Device device(name + ":0");
  const Stream stream(device);
  const Stream elsewhere(Device("cpu_sim:0"));
  const auto alive = std::make_shared<int>(0);
  {
    Graph graph(device);
    graph.add_host_function(graph.add_host_function({}, [alive] {}), [alive] {});
    graph.add_host_function({}, [alive] {});
    GraphExec exec = graph.instantiate();
    const GraphExec other = graph.instantiate();
    HostGate gate;
    gate.block(stream);
    exec.launch(stream);
    const Stream captured(device);
    captured.begin_capture(CaptureMode::relaxed);
    forward.lost_device = 0;
    REQUIRE(code_of([&] { stream.synchronize(); }) == ErrorCode::device_lost);
    REQUIRE(code_of([&] { exec.launch(stream); }) == ErrorCode::device_lost);
    REQUIRE(code_of([&] { exec.update(graph); }) == ErrorCode::device_lost);
    REQUIRE(code_of([&] { static_cast<void>(graph.instantiate()); }) == ErrorCode::device_lost);
    REQUIRE(code_of([&] { captured.begin_capture(); }) == ErrorCode::device_lost);
    gate.open();
  }
  elsewhere.synchronize();
  // Whether the device still calls what it was given can't be asked any more.
  REQUIRE(alive.use_count() >= 1);
}

/// A stream that the core holds back: its device has no gates, and it waits for another backend's work.
struct Held {
  explicit Held(const std::string& name) {
    test::Forward& forward = test::new_forward();
    forward.gates = false;
    forward.install(name);
    device = Device(name + ":0");
    blocker = Stream(Device("cpu_sim:0"));
    stream = Stream(device);
  }
  void hold() {
    gate.block(blocker);
    stream.wait_stream(blocker);
  }

  Device device{"cpu_sim:0"};
  Stream blocker, stream;
  HostGate gate;
};

TEST_CASE("Given a held stream then launches and updates of a graph keep their order when it goes on") {
  Held held(GENERATE(as<std::string>{}, "native", "replayed"));
  const Number number(held.device, 0);
  const Buffer aside(held.stream, 256);
  const Kernel step = step_kernel(held.device);
  const GraphExec exec = branched(held.device, step, number.buffer, aside, 1).instantiate();
  REQUIRE(exec.is_native() == (held.device.place().backend() == "native"));
  held.hold();
  exec.launch(held.stream);
  exec.update(branched(held.device, step, number.buffer, aside, 3));
  exec.launch(held.stream);
  exec.update(branched(held.device, step, number.buffer, aside, 5));
  exec.launch(held.stream);
  REQUIRE_FALSE(held.stream.query());
  held.gate.open();
  held.stream.synchronize();
  REQUIRE(number.get() == 123456);
}

TEST_CASE("Given a held stream then a launch on another stream waits for the launch that is held back") {
  Held held(GENERATE(as<std::string>{}, "native", "replayed"));
  const Stream other(held.device);
  const Number number(held.device, 0);
  const Buffer aside(held.stream, 256);
  const Kernel step = step_kernel(held.device);
  const GraphExec exec = branched(held.device, step, number.buffer, aside, 1).instantiate();
  held.hold();
  exec.launch(held.stream);
  held.stream.launch(step, {}, number.buffer, std::uint64_t{10}, std::uint64_t{3});
  exec.launch(other);
  REQUIRE_FALSE(other.query());
  held.gate.open();
  other.synchronize();
  held.stream.synchronize();
  const std::uint64_t result = number.get();
  // The work between the two launches is in order with the first alone.
  REQUIRE((result == 12312 || result == 12132 || result == 12123));
}

TEST_CASE("Given a held stream then its launch completes although graph and stream are gone") {
  Held held(GENERATE(as<std::string>{}, "native", "replayed"));
  const Number number(held.device, 0);
  const Kernel step = step_kernel(held.device);
  const auto calls = std::make_shared<std::atomic<int>>(0);
  held.hold();
  {
    const Buffer aside(held.device, 256);
    Graph graph = branched(held.device, step, number.buffer, aside, 1);
    graph.add_host_function({}, [calls] { ++*calls; });
    const GraphExec exec = graph.instantiate();
    exec.launch(held.stream);
    exec.launch(held.stream);
    held.stream = Stream();
  }
  REQUIRE(number.get() == 0);
  held.gate.open();
  while (calls.use_count() > 1) std::this_thread::yield();
  REQUIRE(*calls == 2);
  REQUIRE(number.get() == 1212);
}

TEST_CASE("Given a held stream that is captured then the capture's work isn't held and the held work isn't captured") {
  Held held(GENERATE(as<std::string>{}, "native", "replayed"));
  const Number number(held.device, 0);
  const Kernel step = step_kernel(held.device);
  held.hold();
  held.stream.launch(step, {}, number.buffer, std::uint64_t{10}, std::uint64_t{1});
  held.stream.begin_capture(CaptureMode::relaxed);
  held.stream.launch(step, {}, number.buffer, std::uint64_t{10}, std::uint64_t{2});
  const Graph graph = held.stream.end_capture();
  REQUIRE(graph.size() == 1);
  const GraphExec exec = graph.instantiate();
  held.stream.launch(step, {}, number.buffer, std::uint64_t{10}, std::uint64_t{3});
  exec.launch(held.stream);
  held.gate.open();
  held.stream.synchronize();
  REQUIRE(number.get() == 132);
}

TEST_CASE("Given a graph that waits for another backend's event then its launch waits, whatever the stream does") {
  Held held(GENERATE(as<std::string>{}, "native", "replayed"));
  const Event event(Device("cpu_sim:0"));
  const Number number(held.device, 0);
  const Kernel step = step_kernel(held.device);
  Graph graph(held.device);
  graph.add_kernel(graph.add_event_wait({}, event), step, {}, number.buffer, std::uint64_t{10}, std::uint64_t{1});
  graph.add_memset8({}, number.buffer.sub(0, 0), 0);
  const GraphExec exec = graph.instantiate();
  held.gate.block(held.blocker);
  event.record(held.blocker);
  exec.launch(held.stream);
  held.stream.launch(step, {}, number.buffer, std::uint64_t{10}, std::uint64_t{2});
  REQUIRE_FALSE(held.stream.query());
  held.gate.open();
  held.stream.synchronize();
  REQUIRE(number.get() == 12);
}

TEST_CASE("Given launches pending on several streams then each stream has the faults of its own launches") {
  const Device device = test::graph_device();
  std::vector<Stream> streams;
  for (int i = 0; i < 3; ++i) streams.emplace_back(device);
  const auto calls = std::make_shared<std::atomic<int>>(0);
  Graph graph(device);
  const GraphNode root = graph.add_empty({});
  graph.add_empty(root);
  graph.add_host_function(root, [calls] {
    const int call = ++*calls;
    if (call % 2 == 0) throw std::runtime_error("call " + std::to_string(call));
  });
  const GraphExec exec = graph.instantiate();
  HostGate gate;
  gate.block(streams[0]);
  for (int launch = 0; launch < 6; ++launch) exec.launch(streams[static_cast<std::size_t>(launch % 3)]);
  gate.open();
  device.synchronize();
  // Calls 1 and 4 were of the first stream, 2 and 5 of the second, 3 and 6 of the third.
  CHECK_THAT(required_error([&] { streams[0].synchronize(); }).what(), Catch::Contains("call 4"));
  CHECK_THAT(required_error([&] { streams[1].synchronize(); }).what(), Catch::Contains("call 2"));
  CHECK_THAT(required_error([&] { streams[2].synchronize(); }).what(), Catch::Contains("call 6"));
  for (const Stream& stream : streams) stream.synchronize();
}

}  // namespace failures_test
