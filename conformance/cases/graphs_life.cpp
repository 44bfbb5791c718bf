// SPDX-License-Identifier: Apache-2.0
// Graphs: the memory that they keep, and what may be destroyed while their launches are pending.
#include <atomic>
#include <thread>

#include "support.h"

namespace anyplace::conformance::graphs_life_cases {
namespace {

constexpr std::uint64_t bytes = 1 << 16;

Bytes all_of(std::uint8_t value) { return Bytes(bytes, value); }

/// Memory in captures comes from the caching allocator, which the suite switches off otherwise. It is the first call of
/// a case.
void need_caching() { set_variable("ANYPLACE_ALLOCATOR", "caching:true"); }

std::uint64_t allocated(const Device& device) {
  return static_cast<std::uint64_t>(CALL(memory_stats(device)).at("allocated_bytes.all.current"));
}

// ---- Memory

ANYPLACE_CASE("graphs", "graphs.memory", "memory that a graph uses is handed to nobody else") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer result = filled(stream, bytes, 0);
  GraphExec exec;
  {
    const Buffer source = filled(stream, bytes, 5);
    Graph graph(device);
    graph.add_copy({}, result, source);
    exec = CALL(graph.instantiate());
  }
  std::vector<Buffer> others;
  for (int i = 0; i < 20; ++i) others.push_back(filled(stream, bytes, 9));
  CALL(exec.launch(stream));
  CHECK_BYTES(read(stream, result), all_of(5));
}

ANYPLACE_CASE("graphs", "graphs.memory",
              "a buffer that is made and destroyed in a capture leaves its memory to the graph") {
  need_caching();
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer result = filled(stream, bytes, 0);
  CALL(stream.begin_capture());
  {
    const Buffer inside = CALL(Buffer(stream, bytes));
    CALL(stream.memset8(inside, 3));
    CALL(stream.copy(result, inside));
  }
  const GraphExec exec = CALL(stream.end_capture().instantiate());
  std::vector<Buffer> others;
  for (int i = 0; i < 20; ++i) others.push_back(filled(stream, bytes, 9));
  for (int launch = 0; launch < 3; ++launch) {
    CALL(stream.memset8(result, 0));
    CALL(exec.launch(stream));
    CHECK_BYTES(read(stream, result), all_of(3));
  }
  for (const Buffer& other : others) CHECK_BYTES(read(other), all_of(9));
}

ANYPLACE_CASE("graphs", "graphs.memory", "a buffer that is made in a capture holds what each launch writes") {
  need_caching();
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Stream branch = CALL(Stream(device));
  CALL(stream.begin_capture());
  const Buffer first = CALL(Buffer(stream, bytes));
  CALL(stream.memset8(first, 1));
  CALL(branch.wait_stream(stream));
  const Buffer second = CALL(Buffer(branch, bytes));
  CALL(branch.memset8(second, 2));
  const Buffer third = CALL(Buffer(stream, bytes));
  CALL(stream.memset8(third, 3));
  CALL(stream.wait_stream(branch));
  const GraphExec exec = CALL(stream.end_capture().instantiate());
  CALL(exec.launch(stream));
  CHECK_BYTES(read(stream, first), all_of(1));
  CHECK_BYTES(read(stream, second), all_of(2));
  CHECK_BYTES(read(stream, third), all_of(3));
}

ANYPLACE_CASE("graphs", "graphs.memory", "graphs of one pool use the same memory, one after the other") {
  need_caching();
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer result = filled(stream, 4 * bytes, 0);
  const GraphPool pool = CALL(GraphPool(device));
  std::vector<GraphExec> execs;
  std::uint64_t after_first = 0;
  for (std::uint8_t i = 0; i < 4; ++i) {
    CALL(stream.begin_capture(CaptureMode::global, pool));
    {
      const Buffer inside = CALL(Buffer(stream, bytes));
      CALL(stream.memset8(inside, i));
      CALL(stream.copy(result.sub(i * bytes, bytes), inside));
    }
    execs.push_back(CALL(stream.end_capture().instantiate()));
    if (i == 0) after_first = CALL(pool.reserved_bytes());
  }
  CHECK_EQUAL(pool.reserved_bytes(), after_first);
  for (const GraphExec& exec : execs) CALL(exec.launch(stream));
  Bytes expected;
  for (std::uint8_t i = 0; i < 4; ++i) expected.insert(expected.end(), bytes, i);
  CHECK_BYTES(read(stream, result), expected);
}

ANYPLACE_CASE("graphs", "graphs.memory", "all memory comes back when graphs and buffers are gone") {
  need_caching();
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  static_cast<void>(read(filled(stream, 64, 1)));
  const std::uint64_t before = allocated(device);
  for (int round = 0; round < 5; ++round) {
    const Buffer outside = filled(stream, bytes, 1);
    CALL(stream.begin_capture());
    Buffer inside = CALL(Buffer(stream, bytes));
    CALL(stream.copy(inside, outside));
    const Graph graph = CALL(stream.end_capture());
    const GraphExec exec = CALL(graph.instantiate());
    const GraphExec another = CALL(graph.instantiate());
    for (int launch = 0; launch < 3; ++launch) CALL(exec.launch(stream));
    CALL(another.launch(stream));
    CHECK(allocated(device) > before);
  }
  CALL(stream.synchronize());
  step(__FILE__, __LINE__, "waiting for the memory to come back");
  while (allocated(device) != before) std::this_thread::yield();
}

// ---- Objects that are destroyed while a launch is pending

ANYPLACE_CASE("graphs", "graphs.life", "what a launch uses may all be destroyed while it is pending",
              Capability::host_functions) {
  HostGate gate;
  const Device device = run.device();
  const Stream survivor = CALL(Stream(device));
  const Buffer result = filled(survivor, bytes, 0);
  std::atomic<int> calls{0};
  auto kept = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = kept;
  {
    const Stream stream = CALL(Stream(device));
    const Buffer source = filled(stream, bytes, 7);
    const Event event = CALL(Event(device));
    Graph graph(device);
    const GraphNode waited = graph.add_event_wait(graph.add_event_record({}, event), event);
    const GraphNode called = graph.add_host_function({}, [kept, &calls] { ++calls; });
    graph.add_copy({waited, called}, result, source);
    const GraphExec exec = CALL(graph.instantiate());
    gate.hold(stream);
    CALL(exec.launch(stream));
    CALL(survivor.wait_stream(stream));
  }
  kept.reset();
  std::vector<Buffer> others;
  for (int i = 0; i < 20; ++i) others.push_back(filled(CALL(Stream(device)), bytes, 9));
  CHECK_STAYS_FALSE(watch.expired() || calls.load() != 0 || read(result) != all_of(0));
  gate.open();
  CHECK_BYTES(read(survivor, result), all_of(7));
  CHECK_EQUAL(calls.load(), 1);
  step(__FILE__, __LINE__, "waiting for the function to be let go");
  while (!watch.expired()) std::this_thread::yield();
}

ANYPLACE_CASE("graphs", "graphs.life", "a callable may be destroyed while a graph has it", Capability::host_kernels) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  std::atomic<int> calls{0};
  auto kept = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = kept;
  {
    GraphExec exec;
    {
      const Kernel kernel(device, [kept, &calls](const Block&, int) { ++calls; });
      Graph graph(device);
      graph.add_kernel({}, kernel, {}, 1);
      exec = CALL(graph.instantiate());
    }
    kept.reset();
    CALL(exec.launch(stream));
    CALL(exec.launch(stream));
    CHECK(!watch.expired());
  }
  CALL(stream.synchronize());
  CHECK_EQUAL(calls.load(), 2);
  step(__FILE__, __LINE__, "waiting for the callable to be let go");
  while (!watch.expired()) std::this_thread::yield();
}

ANYPLACE_CASE("graphs", "graphs.life", "an executable graph is moved, also onto itself and onto one that is pending") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 0);
  const auto make = [&](std::uint8_t value) {
    Graph graph(device);
    graph.add_memset8({}, buffer, value);
    return CALL(graph.instantiate());
  };
  GraphExec exec = make(1);
  for (std::uint8_t round = 2; round < 50; ++round) {
    CALL(exec.launch(stream));
    exec = make(round);
    GraphExec& same = exec;
    exec = std::move(same);
  }
  CALL(exec.launch(stream));
  CHECK_BYTES(read(stream, buffer), all_of(49));
}

ANYPLACE_CASE("graphs", "graphs.life", "graphs and what they own may be destroyed in a host function",
              Capability::host_functions) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  for (int round = 0; round < 20; ++round) {
    auto graph = std::make_unique<Graph>(device);
    auto buffer = std::make_unique<Buffer>(filled(stream, bytes, 1));
    CALL(graph->add_memset8({}, *buffer, 2));
    auto exec = std::make_unique<GraphExec>(CALL(graph->instantiate()));
    CALL(exec->launch(stream));
    CALL(stream.launch_host_func([&] {
      graph.reset();
      exec.reset();
      buffer.reset();
    }));
    CALL(stream.synchronize());
    CHECK(graph == nullptr && exec == nullptr && buffer == nullptr);
  }
}

ANYPLACE_CASE("graphs", "graphs.life", "a stream that is destroyed while it is captured leaves no capture behind") {
  const Device device = run.device();
  for (int round = 0; round < 5; ++round) {
    const Stream joined = CALL(Stream(device));
    {
      const Stream stream = CALL(Stream(device));
      CALL(stream.begin_capture());
      CALL(joined.wait_stream(stream));
      CHECK(joined.is_capturing());
    }
    CHECK(!joined.is_capturing());
    // Allocation isn't refused either, as it would be during a capture.
    CHECK_BYTES(read(joined, filled(joined, bytes, 4)), all_of(4));
  }
}

ANYPLACE_CASE("graphs", "graphs.life", "500 graphs may exist at once, and each does its own work") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, 500 * 64, 0);
  std::vector<GraphExec> execs;
  Bytes expected;
  for (std::uint64_t i = 0; i < 500; ++i) {
    Graph graph(device);
    const auto value = static_cast<std::uint8_t>(i % 251);
    graph.add_memset8({}, buffer.sub(i * 64, 32), value);
    graph.add_memset8({}, buffer.sub(i * 64 + 32, 32), value);
    execs.push_back(CALL(graph.instantiate()));
    expected.insert(expected.end(), 64, value);
  }
  for (const GraphExec& exec : execs) CALL(exec.launch(stream));
  CHECK_BYTES(read(stream, buffer), expected);
}

ANYPLACE_CASE("graphs", "graphs.life", "a process may end with launches pending", Capability::host_functions) {
  const Device device = run.device();
  static const Stream stream = CALL(Stream(device));
  static const Buffer buffer = filled(stream, 1 << 22, 1);
  Graph graph(device);
  GraphNode last = graph.add_host_function({}, [] {});
  for (int i = 0; i < 50; ++i) last = graph.add_memset8(last, buffer, 2);
  static const GraphExec exec = CALL(graph.instantiate());
  for (int i = 0; i < 4; ++i) CALL(exec.launch(stream));
}

// ---- Threads and processes

ANYPLACE_CASE("graphs", "errors.threads", "threads capture and launch graphs of their own at the same time") {
  const Device device = run.device();
  run_threads(6, [&](int thread) {
    const Stream stream = CALL(Stream(device));
    const Stream branch = CALL(Stream(device));
    const Buffer buffer = filled(stream, bytes, 0);
    const Buffer copied = filled(stream, bytes, 0);
    for (int round = 0; round < 10; ++round) {
      const auto value = static_cast<std::uint8_t>(thread * 10 + round);
      CALL(stream.begin_capture(CaptureMode::relaxed));
      CALL(stream.memset8(buffer, value));
      CALL(branch.wait_stream(stream));
      CALL(branch.copy(copied, buffer));
      CALL(stream.wait_stream(branch));
      const GraphExec exec = CALL(stream.end_capture().instantiate());
      CALL(exec.launch(branch));
      CALL(exec.launch(stream));
      CHECK_BYTES(read(stream, copied), all_of(value));
    }
  });
}

ANYPLACE_CASE("graphs", "errors.threads", "threads launch and update one graph at the same time",
              Capability::host_functions) {
  const Device device = run.device();
  std::atomic<int> calls{0};
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};
  const auto make = [&] {
    Graph graph(device);
    const GraphNode first = graph.add_host_function({}, [&] { overlapped = ++inside != 1 || overlapped; });
    graph.add_host_function(first, [&] {
      --inside;
      ++calls;
    });
    return graph;
  };
  const GraphExec exec = CALL(make().instantiate());
  run_threads(4, [&](int thread) {
    const Stream stream = CALL(Stream(device));
    for (int launch = 0; launch < 50; ++launch) {
      CALL(exec.launch(stream));
      if (thread == 0 && launch % 5 == 0) CALL(exec.update(make()));
    }
    CALL(stream.synchronize());
  });
  CHECK_EQUAL(calls.load(), 200);
  CHECK(!overlapped.load());
}

ANYPLACE_CASE("graphs", "devices.fork",
              "calls of graphs in a forked child are forked, and their destructors are silent") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  bool said = false;
  set_error_handler([&](const Error&) { said = true; });
  auto graph = std::make_unique<Graph>(device);
  CALL(graph->add_memset8({}, buffer, 2));
  auto exec = std::make_unique<GraphExec>(CALL(graph->instantiate()));
  auto pool = std::make_unique<GraphPool>(device);
  CALL(exec->launch(stream));
  CHECK_FORKED({
    CHECK_ERROR(forked, graph->add_empty({}));
    CHECK_ERROR(forked, graph->instantiate());
    CHECK_ERROR(forked, exec->launch(stream));
    CHECK_ERROR(forked, stream.begin_capture());
    graph.reset();
    exec.reset();
    pool.reset();
    CHECK(!said);
  });
  CALL(exec->launch(stream));
  CHECK_BYTES(read(stream, buffer), all_of(2));
}

}  // namespace
}  // namespace anyplace::conformance::graphs_life_cases
