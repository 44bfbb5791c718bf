// SPDX-License-Identifier: Apache-2.0
//
// Graphs as Level Zero has them: which are closed lists, how many lists a graph has, and what becomes of it when a call
// fails in the middle of a launch.
#include <vector>

#include "support.h"
#include "support/host_gate.h"

namespace graph_test {

namespace {

using namespace levelzero_test;
using anyplace::Buffer;
using anyplace::Device;
using anyplace::Graph;
using anyplace::GraphExec;
using anyplace::GraphNode;
using anyplace::Stream;
using Numbers = std::vector<std::uint32_t>;
constexpr std::uint32_t count = 1024;

/// A kernel, two copies side by side that come after it, and a fill after both.
struct Ground {
  Device device{"levelzero:0"};
  Stream stream{device};
  Buffer a{stream, count * 4}, b{stream, count * 4}, c{stream, count * 4};
  anyplace::Module module = load(device, read_image(), with_shared());

  Graph graph(std::uint32_t value) const {
    Graph made(device);
    const GraphNode first = made.add_kernel({}, module.kernel("fill"), {count / 64, 64}, a, count, value);
    const GraphNode left = made.add_copy(first, b, a);
    const GraphNode right = made.add_copy(first, c, a);
    made.add_memset32({left, right}, a, 9);
    return made;
  }
  Numbers read(const Buffer& buffer) const {
    Numbers numbers(count);
    stream.copy(numbers, buffer);
    stream.synchronize();
    return numbers;
  }
};

}  // namespace

TEST_CASE("A graph of kernels, copies and fills is a closed list that each launch executes") {
  const Double ze;
  const Ground on;
  const GraphExec exec = on.graph(3).instantiate();
  REQUIRE(exec.is_native());
  for (int i = 0; i < 3; ++i) {
    on.stream.memset32(on.b, 0);
    exec.launch(on.stream);
    CHECK(on.read(on.b) == Numbers(count, 3));
    CHECK(on.read(on.a) == Numbers(count, 9));
  }
  CHECK(ze.calls_of("zeCommandListClose") == 1);
  CHECK(ze.calls_of("zeCommandQueueExecuteCommandLists") == 3);
}

TEST_CASE("Launches that are pending have a list each, and beyond four the nodes are submitted") {
  const Double ze;
  const Ground on;
  const GraphExec exec = on.graph(3).instantiate();
  std::vector<Numbers> back(7, Numbers(count));
  {
    test::HostGate gate;
    gate.block(on.stream);
    for (Numbers& each : back) {
      on.stream.memset32(on.b, 0);
      exec.launch(on.stream);
      on.stream.copy(each, on.b);
    }
    CHECK_FALSE(on.stream.query());
    CHECK(ze.calls_of("zeCommandQueueExecuteCommandLists") == 4);
    CHECK(ze.calls_of("zeCommandListClose") == 4);
  }
  on.stream.synchronize();
  for (const Numbers& each : back) CHECK(each == Numbers(count, 3));
  exec.launch(on.stream);
  on.stream.synchronize();
  CHECK(ze.calls_of("zeCommandQueueExecuteCommandLists") == 5);
  CHECK(ze.calls_of("zeCommandListClose") == 4);
}

TEST_CASE("An update makes another list, and launches made before keep what they had") {
  const Double ze;
  const Ground on;
  const GraphExec exec = on.graph(3).instantiate();
  Numbers before(count);
  {
    test::HostGate gate;
    gate.block(on.stream);
    exec.launch(on.stream);
    on.stream.copy(before, on.b);
    exec.update(on.graph(4));
    REQUIRE(exec.is_native());
    exec.launch(on.stream);
  }
  CHECK(on.read(on.b) == Numbers(count, 4));
  CHECK(before == Numbers(count, 3));
}

TEST_CASE("What a list can't have is launched node by node") {
  const Double ze;
  const Ground on;
  Numbers numbers(count, 6);
  Graph with_host_memory = on.graph(3);
  with_host_memory.add_copy({}, on.b, numbers);
  CHECK_FALSE(with_host_memory.instantiate().is_native());
  Graph with_function = on.graph(3);
  with_function.add_host_function({}, [] {});
  CHECK_FALSE(with_function.instantiate().is_native());
  Graph with_event = on.graph(3);
  const anyplace::Event event(on.device);
  with_event.add_event_record({}, event);
  CHECK_FALSE(with_event.instantiate().is_native());
  const anyplace::HostBuffer pinned(on.device, count * 4);
  Graph with_pinned = on.graph(3);
  with_pinned.add_copy({}, on.b, anyplace::ConstHostSpan(pinned.data(), pinned.size()));
  CHECK(with_pinned.instantiate().is_native());
}

TEST_CASE("A launch that fails half-way is an error, and the next launch is whole") {
  for (const char* const call : {"zeCommandQueueExecuteCommandLists", "zeCommandListAppendBarrier"}) {
    for (int use = 1; use <= 2; ++use) {
      INFO(call << " " << use);
      const Double ze;
      const Ground on;
      const GraphExec exec = on.graph(3).instantiate();
      REQUIRE(ze.fail_nth(call, use, 0x7ffffffe));
      int failures = 0;
      for (int i = 0; i < 3; ++i) {
        failures += test::code_of([&] { exec.launch(on.stream); }) == ErrorCode::backend_failed ? 1 : 0;
      }
      CHECK(failures == 1);
      exec.launch(on.stream);
      CHECK(on.read(on.c) == Numbers(count, 3));
    }
  }
}

TEST_CASE("A stream is behind an execution whose barrier failed, at once or by the next launch") {
  for (const int failing : {1, 2}) {
    INFO(failing << " barriers fail");
    const Double ze;
    const Ground on;
    const GraphExec exec = on.graph(3).instantiate();
    test::HostGate gate;
    gate.block(on.stream);
    for (int i = 0; i < failing; ++i) REQUIRE(ze.fail_nth("zeCommandListAppendBarrier", 2 + i, 0x7ffffffe));
    CHECK(test::code_of([&] { exec.launch(on.stream); }) == ErrorCode::backend_failed);
    if (failing == 2) exec.launch(on.stream);
    gate.open();
    on.stream.synchronize();
    CHECK(on.read(on.c) == Numbers(count, 3));
  }
}

}  // namespace graph_test
