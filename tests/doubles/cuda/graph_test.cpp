// SPDX-License-Identifier: Apache-2.0
//
// Graphs of the double: what their nodes do and in which order, and each CUresult that their calls can give.
#include <algorithm>

#include "test_support.h"

namespace graph_test {

namespace {

using test::Control;
using test::create_stream;
using test::Gate;
using test::ok;
using test::peek;
using test::Primary;

using After = std::vector<CUgraphNode>;

CUresult add_edge(CUgraph graph, CUgraphNode from, CUgraphNode to) {
#if CUDA_VERSION >= 13000
  return cuGraphAddDependencies(graph, &from, &to, nullptr, 1);
#else
  return cuGraphAddDependencies(graph, &from, &to, 1);
#endif
}

CUresult instantiate(CUgraphExec* executable, CUgraph graph) {
#if CUDA_VERSION >= 12000
  return cuGraphInstantiate(executable, graph, 0);
#else
  return cuGraphInstantiate(executable, graph, nullptr, nullptr, 0);
#endif
}

struct Update {
  CUresult result;
  CUgraphExecUpdateResult why;
  CUgraphNode node;
};
Update update(CUgraphExec executable, CUgraph graph) {
#if CUDA_VERSION >= 12000
  CUgraphExecUpdateResultInfo info{};
  const CUresult result = cuGraphExecUpdate(executable, graph, &info);
  return {result, info.result, info.errorNode};
#else
  Update made{};
  made.result = cuGraphExecUpdate(executable, graph, &made.node, &made.why);
  return made;
#endif
}

/// A graph, which goes at the end.
class Graph {
 public:
  Graph() { ok(cuGraphCreate(&graph_, 0)); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { cuGraphDestroy(graph_); }
  operator CUgraph() const noexcept { return graph_; }  // NOLINT(google-explicit-constructor)

  CUgraphNode empty(const After& after = {}) const {
    CUgraphNode node = nullptr;
    ok(cuGraphAddEmptyNode(&node, graph_, after.data(), after.size()));
    return node;
  }
  CUgraphNode set(CUcontext context, CUdeviceptr address, unsigned value, std::size_t count,
                  const After& after = {}) const {
    const CUDA_MEMSET_NODE_PARAMS asked{address, 0, value, 4, count, 1};
    CUgraphNode node = nullptr;
    ok(cuGraphAddMemsetNode(&node, graph_, after.data(), after.size(), &asked, context));
    return node;
  }
  CUgraphNode call(CUhostFn function, void* user, const After& after = {}) const {
    const CUDA_HOST_NODE_PARAMS asked{function, user};
    CUgraphNode node = nullptr;
    ok(cuGraphAddHostNode(&node, graph_, after.data(), after.size(), &asked));
    return node;
  }
  template <class... Values>
  CUgraphNode launch(CUfunction kernel, const After& after, Values... values) const {
    void* arguments[] = {&values..., nullptr};
    CUDA_KERNEL_NODE_PARAMS asked{};
    asked.func = kernel;
    asked.gridDimX = asked.gridDimY = asked.gridDimZ = asked.blockDimX = asked.blockDimY = asked.blockDimZ = 1;
    asked.kernelParams = arguments;
    CUgraphNode node = nullptr;
    ok(cuGraphAddKernelNode(&node, graph_, after.data(), after.size(), &asked));
    return node;
  }

 private:
  CUgraph graph_ = nullptr;
};

class Executable {
 public:
  explicit Executable(CUgraph graph) { ok(instantiate(&executable_, graph)); }
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  ~Executable() { cuGraphExecDestroy(executable_); }
  operator CUgraphExec() const noexcept { return executable_; }  // NOLINT(google-explicit-constructor)

 private:
  CUgraphExec executable_ = nullptr;
};

CUDA_MEMCPY3D copy_of(const void* from, CUdeviceptr to, std::size_t bytes) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from;
  copy.srcPitch = bytes;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = to;
  copy.dstPitch = bytes;
  copy.WidthInBytes = bytes;
  copy.Height = copy.Depth = 1;
  return copy;
}

}  // namespace

TEST_CASE("a graph's nodes run in the order of its edges, at each launch") {
  test::set_env("CUDA_DOUBLE_SEED", "5");
  const Primary primary;
  const test::Kernels kernels;
  const CUstream stream = create_stream();
  const CUdeviceptr list = test::allocate(404);
  const Graph graph;
  const CUgraphNode first = graph.set(primary, list, 0, 101);
  CUgraphNode last = first;
  for (std::uint32_t i = 0; i < 50; ++i) last = graph.launch(kernels["append"], {last}, list, i);
  const Executable executable(graph);
  for (int launch = 0; launch < 3; ++launch) {
    ok(cuGraphLaunch(executable, stream));
    ok(cuStreamSynchronize(stream));
    CHECK(peek(list) == 50);
    for (std::uint32_t i = 0; i < 50; ++i) CHECK(peek(list + 4 + 4 * i) == i);
  }
}

TEST_CASE("a launch is not done when the call returns and its branches run beside each other") {
  const Primary primary;
  const CUstream stream = create_stream();
  const CUdeviceptr words = test::allocate(8);
  ok(cuMemsetD32(words, 1, 2));
  ok(cuCtxSynchronize());
  test::Latch& latch = test::Latch::make();
  const CUevent done = test::create_event();
  const Graph graph;
  const CUgraphNode held = graph.call(test::Latch::pass, &latch);
  graph.set(primary, words, 2, 1, {held});
  const CUgraphNode beside = graph.set(primary, words + 4, 2, 1);
  CUgraphNode recorded = nullptr;
  ok(cuGraphAddEventRecordNode(&recorded, graph, &beside, 1, done));
  const Executable executable(graph);
  ok(cuGraphLaunch(executable, stream));
  ok(cuEventSynchronize(done));
  CHECK(peek(words + 4) == 2);
  CHECK(peek(words) == 1);
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
  latch.open();
  ok(cuStreamSynchronize(stream));
  CHECK(peek(words) == 2);
}

TEST_CASE("launches of one executable graph come one after the other whatever their streams") {
  const Primary primary;
  const CUstream first = create_stream(), second = create_stream();
  test::Latch& latch = test::Latch::make();
  bool passed = false;
  struct Once {
    test::Latch& latch;
    bool& passed;
  } once{latch, passed};
  const auto pass_once = [](void* user) {
    auto& of = *static_cast<Once*>(user);
    if (!of.passed) test::Latch::pass(&of.latch);
    of.passed = true;
  };
  const Graph graph;
  graph.call(pass_once, &once);
  const Executable executable(graph);
  ok(cuGraphLaunch(executable, first));
  latch.wait_until_reached();
  ok(cuGraphLaunch(executable, second));
  CHECK(cuStreamQuery(second) == CUDA_ERROR_NOT_READY);
  latch.open();
  ok(cuStreamSynchronize(second));
  CHECK(cuStreamQuery(first) == CUDA_SUCCESS);
}

TEST_CASE("a launch comes behind what its stream has and before what comes later, the null stream's too") {
  const Primary primary;
  const CUstream blocking = create_stream(CU_STREAM_DEFAULT);
  const CUdeviceptr word = test::allocate(4);
  const Graph graph;
  graph.set(primary, word, 7, 1);
  const Executable executable(graph);
  Gate gate;
  gate.block(blocking);
  ok(cuGraphLaunch(executable, nullptr));
  CHECK(cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY);
  gate.open();
  ok(cuMemsetD32Async(word, 8, 1, blocking));
  ok(cuCtxSynchronize());
  CHECK(peek(word) == 8);
}

TEST_CASE("a graph that is made executable is on its own: the graph may change and go") {
  const Primary primary;
  const CUstream stream = create_stream();
  const CUdeviceptr words = test::allocate(8);
  ok(cuMemsetD32(words, 1, 2));
  ok(cuCtxSynchronize());
  CUgraphExec executable = nullptr;
  {
    const Graph graph;
    const CUgraphNode node = graph.set(primary, words, 3, 1);
    ok(instantiate(&executable, graph));
    graph.set(primary, words + 4, 3, 1);
    ok(cuGraphDestroyNode(node));
  }
  ok(cuGraphLaunch(executable, stream));
  ok(cuStreamSynchronize(stream));
  CHECK(peek(words) == 3);
  CHECK(peek(words + 4) == 1);
  ok(cuGraphExecDestroy(executable));
}

TEST_CASE("an executable graph that is destroyed while it runs runs to its end") {
  const Primary primary;
  const Control control;
  const CUstream stream = create_stream();
  const CUdeviceptr word = test::allocate(4);
  test::Latch& latch = test::Latch::make();
  {
    const Graph graph;
    graph.set(primary, word, 9, 1, {graph.call(test::Latch::pass, &latch)});
    const Executable executable(graph);
    ok(cuGraphLaunch(executable, stream));
  }
  CHECK(control.live("executable graph") == 0);
  latch.open();
  ok(cuStreamSynchronize(stream));
  CHECK(peek(word) == 9);
}

TEST_CASE("the values of a kernel node are taken when it is added") {
  const Primary primary;
  const test::Kernels kernels;
  const CUstream stream = create_stream();
  const CUdeviceptr counter = test::allocate(4);
  ok(cuMemsetD32(counter, 0, 1));
  const Graph graph;
  graph.launch(kernels["count"], {}, counter, 5u);  // whose values are gone by now
  const Executable executable(graph);
  ok(cuGraphLaunch(executable, stream));
  ok(cuGraphLaunch(executable, stream));
  ok(cuStreamSynchronize(stream));
  CHECK(peek(counter) == 10);
}

TEST_CASE("a copy node reads host memory when it runs") {
  const Primary primary;
  const CUstream stream = create_stream();
  const CUdeviceptr word = test::allocate(4);
  std::uint32_t host = 1;
  const CUDA_MEMCPY3D copy = copy_of(&host, word, 4);
  const Graph graph;
  CUgraphNode node = nullptr;
  ok(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, primary));
  const Executable executable(graph);
  host = 2;
  ok(cuGraphLaunch(executable, stream));
  ok(cuStreamSynchronize(stream));
  CHECK(peek(word) == 2);
}

TEST_CASE("a node that waits for an event waits for its record at the launch") {
  const Primary primary;
  const CUstream stream = create_stream(), other = create_stream();
  const CUevent event = test::create_event();
  const Graph graph;
  CUgraphNode node = nullptr;
  ok(cuGraphAddEventWaitNode(&node, graph, nullptr, 0, event));
  const Executable executable(graph);
  ok(cuGraphLaunch(executable, stream));  // never recorded
  ok(cuStreamSynchronize(stream));
  Gate gate;
  gate.block(other);
  ok(cuEventRecord(event, other));
  ok(cuGraphLaunch(executable, stream));
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
  gate.open();
  ok(cuStreamSynchronize(stream));
}

TEST_CASE("an update is for later launches") {
  const Primary primary;
  const CUstream stream = create_stream();
  const CUdeviceptr words = test::allocate(8);
  test::Latch& latch = test::Latch::make();
  const Graph graph, later;
  graph.set(primary, words, 1, 1, {graph.call(test::Latch::pass, &latch)});
  later.set(primary, words + 4, 2, 1, {later.call([](void*) {}, nullptr)});
  const Executable executable(graph);
  ok(cuGraphLaunch(executable, stream));
  const Update made = update(executable, later);
  CHECK(made.result == CUDA_SUCCESS);
  CHECK(made.why == CU_GRAPH_EXEC_UPDATE_SUCCESS);
  latch.open();
  ok(cuGraphLaunch(executable, stream));
  ok(cuStreamSynchronize(stream));
  CHECK(peek(words) == 1);
  CHECK(peek(words + 4) == 2);
}

TEST_CASE("an update that changes more than parameters is refused with its reason and changes nothing") {
  const Primary primary;
  const CUstream stream = create_stream();
  const CUdeviceptr words = test::allocate(8);
  const Graph graph;
  graph.set(primary, words + 4, 1, 1, {graph.set(primary, words, 1, 1)});
  const Executable executable(graph);
  const auto check = [&](const Graph& with, CUgraphExecUpdateResult why, CUgraphNode node) {
    const Update made = update(executable, with);
    CHECK(made.result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK(made.why == why);
    CHECK(made.node == node);
  };
  const Graph fewer, apart, others, wide;
  fewer.set(primary, words, 2, 1);
  check(fewer, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr);
  apart.set(primary, words, 2, 1);
  check(apart, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr);
  const CUgraphNode lonely = apart.set(primary, words + 4, 2, 1);
  check(apart, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, lonely);
  const CUgraphNode another = others.empty();
  others.set(primary, words, 2, 1, {another});
  check(others, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, another);
  const CUDA_MEMSET_NODE_PARAMS bytes{words, 0, 2, 1, 4, 1};
  CUgraphNode narrow = nullptr;
  ok(cuGraphAddMemsetNode(&narrow, wide, nullptr, 0, &bytes, primary));
  wide.set(primary, words, 2, 1, {narrow});
  check(wide, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, narrow);
  ok(cuGraphLaunch(executable, stream));
  ok(cuStreamSynchronize(stream));
  CHECK((peek(words) == 1 && peek(words + 4) == 1));
}

TEST_CASE("a circle is found when the graph is made executable") {
  const Primary primary;
  const Graph graph;
  const CUgraphNode first = graph.empty();
  const CUgraphNode second = graph.empty({first});
  CHECK(add_edge(graph, first, second) == CUDA_ERROR_INVALID_VALUE);  // it is there
  CHECK(add_edge(graph, first, first) == CUDA_ERROR_INVALID_VALUE);
  CUgraphExec executable = nullptr;
  ok(instantiate(&executable, graph));
  ok(cuGraphExecDestroy(executable));
  ok(add_edge(graph, second, first));
  CHECK(instantiate(&executable, graph) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("nodes of another graph, destroyed and made-up ones are refused and noted") {
  const Primary primary;
  const Control control;
  const Graph graph, other;
  const CUgraphNode foreign = other.empty();
  const CUgraphNode twice[] = {graph.empty(), nullptr};
  CUgraphNode node = nullptr;
  CHECK(cuGraphAddEmptyNode(&node, graph, &foreign, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(add_edge(graph, twice[0], foreign) == CUDA_ERROR_INVALID_VALUE);
  ok(cuGraphDestroyNode(foreign));
  CHECK(cuGraphAddEmptyNode(&node, other, &foreign, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphDestroyNode(foreign) == CUDA_ERROR_INVALID_VALUE);
  CHECK(control.misuses() == 4);
  const CUgraphNode same[] = {twice[0], twice[0]};
  CHECK(cuGraphAddEmptyNode(&node, graph, same, 2) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddEmptyNode(&node, graph, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddEmptyNode(nullptr, graph, nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(node == nullptr);
}

TEST_CASE("graphs and executable graphs that are destroyed are refused and noted") {
  const Primary primary;
  const Control control;
  CUgraph graph = nullptr;
  ok(cuGraphCreate(&graph, 0));
  CUgraphExec executable = nullptr;
  ok(instantiate(&executable, graph));
  ok(cuGraphDestroy(graph));
  ok(cuGraphExecDestroy(executable));
  CHECK(cuGraphDestroy(graph) == CUDA_ERROR_INVALID_VALUE);
  CHECK(instantiate(&executable, graph) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphLaunch(executable, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphExecDestroy(executable) == CUDA_ERROR_INVALID_VALUE);
  CHECK(control.misuses() == 4);
  CHECK(cuGraphCreate(&graph, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphCreate(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(control.live() == 1);  // the context
}

TEST_CASE("parameters that a call for a stream would refuse are refused") {
  const Primary primary;
  const test::Kernels kernels;
  const CUdeviceptr word = test::allocate(4);
  const Graph graph;
  CUgraphNode node = nullptr;
  CUDA_MEMSET_NODE_PARAMS fill{word, 0, 1, 4, 1, 1};
  CHECK(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, nullptr) == CUDA_ERROR_INVALID_CONTEXT);
  fill.elementSize = 3;
  CHECK(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, primary) == CUDA_ERROR_INVALID_VALUE);
  fill = {word, 0, 1, 4, 2, 1};
  CHECK(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, primary) == CUDA_ERROR_INVALID_VALUE);
  fill = {word, 0, 1, 4, 0, 1};
  CHECK(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, primary) == CUDA_ERROR_INVALID_VALUE);
  std::uint32_t host = 0;
  CUDA_MEMCPY3D copy = copy_of(&host, word, 8);
  CHECK(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, primary) == CUDA_ERROR_INVALID_VALUE);
  copy = copy_of(&host, word, 4);
  copy.Depth = 0;
  CHECK(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, primary) == CUDA_ERROR_INVALID_VALUE);
  copy.Depth = 2;
  CHECK(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, primary) == CUDA_ERROR_NOT_SUPPORTED);
  copy = copy_of(&host, word, 4);
  copy.srcPitch = 3;
  CHECK(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, primary) == CUDA_ERROR_INVALID_VALUE);
  CUDA_KERNEL_NODE_PARAMS launch{};
  launch.func = kernels["count"];
  launch.gridDimX = launch.gridDimY = launch.gridDimZ = launch.blockDimX = launch.blockDimY = launch.blockDimZ = 1;
  CHECK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &launch) == CUDA_ERROR_INVALID_VALUE);  // no values
  void* arguments[] = {&host, &host};
  void* extra[] = {CU_LAUNCH_PARAM_END};
  launch.kernelParams = arguments;
  launch.extra = extra;
  CHECK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &launch) == CUDA_ERROR_INVALID_VALUE);  // both
  launch.extra = nullptr;
  launch.blockDimX = 2000;
  CHECK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &launch) == CUDA_ERROR_INVALID_VALUE);
  const CUDA_HOST_NODE_PARAMS call{nullptr, nullptr};
  CHECK(cuGraphAddHostNode(&node, graph, nullptr, 0, &call) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddEventRecordNode(&node, graph, nullptr, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
  std::size_t count = 9;
  ok(cuGraphGetNodes(graph, nullptr, &count));
  CHECK(count == 0);
}

TEST_CASE("a graph tells its nodes, their kinds and their dependencies") {
  const Primary primary;
  const CUdeviceptr word = test::allocate(4);
  const Graph graph;
  const CUgraphNode first = graph.set(primary, word, 1, 1);
  const CUgraphNode second = graph.call([](void*) {}, nullptr, {first});
  CUgraphNode nodes[3] = {first, first, first};
  std::size_t count = 3;
  ok(cuGraphGetNodes(graph, nodes, &count));
  CHECK(count == 2);
  CHECK((nodes[0] == first && nodes[1] == second && nodes[2] == nullptr));
  CUgraphNodeType type{};
  ok(cuGraphNodeGetType(first, &type));
  CHECK(type == CU_GRAPH_NODE_TYPE_MEMSET);
  ok(cuGraphNodeGetType(second, &type));
  CHECK(type == CU_GRAPH_NODE_TYPE_HOST);
  count = 1;
#if CUDA_VERSION >= 13000
  ok(cuGraphNodeGetDependencies(second, nodes + 2, nullptr, &count));
#else
  ok(cuGraphNodeGetDependencies(second, nodes + 2, &count));
#endif
  CHECK((count == 1 && nodes[2] == first));
}

TEST_CASE("a kernel node that faults makes the rest of the launch vanish, and no host function is called") {
  const Primary primary;
  const Control control;
  const test::Kernels kernels;
  const CUstream stream = create_stream();
  const CUdeviceptr counter = test::allocate(4);
  const Graph graph;
  bool called = false;
  graph.call([](void* user) { *static_cast<bool*>(user) = true; }, &called,
             {graph.launch(kernels["count"], {}, counter, 1u)});
  const Executable executable(graph);
  REQUIRE(control.fault_kernel(0, 1, CUDA_ERROR_ILLEGAL_ADDRESS));
  ok(cuGraphLaunch(executable, stream));
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(cuGraphLaunch(executable, stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK_FALSE(called);
}

TEST_CASE("a launch with memory that is gone faults, and is noted") {
  const Primary primary;
  const Control control;
  const CUstream stream = create_stream();
  const CUdeviceptr word = test::allocate(4);
  const Graph graph;
  graph.set(primary, word, 1, 1);
  const Executable executable(graph);
  ok(cuMemFree(word));
  ok(cuGraphLaunch(executable, stream));
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(control.misuses() != 0);
}

TEST_CASE("a launch with an event or a module that is gone is refused or faults, and is noted") {
  const Primary primary;
  const Control control;
  const CUstream stream = create_stream();
  const CUevent event = test::create_event();
  const Graph records;
  CUgraphNode node = nullptr;
  ok(cuGraphAddEventRecordNode(&node, records, nullptr, 0, event));
  const Executable executable(records);
  ok(cuEventDestroy(event));
  CHECK(cuGraphLaunch(executable, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(control.misuses() == 1);
  const Graph launches;
  const CUdeviceptr counter = test::allocate(4);
  {
    const test::Kernels kernels;
    launches.launch(kernels["count"], {}, counter, 1u);
  }
  const Executable gone(launches);
  ok(cuGraphLaunch(gone, stream));
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(control.misuses() == 2);
}

TEST_CASE("a graph spans the devices of its nodes") {
  const Primary first(0);
  const Primary second(1);  // current
  const CUdeviceptr there = test::allocate(4);
  CUcontext popped = nullptr;
  ok(cuCtxPopCurrent(&popped));
  const CUdeviceptr here = test::allocate(4);
  const CUstream stream = create_stream();
  const Graph graph;
  graph.set(second, there, 5, 1, {graph.set(first, here, 5, 1)});
  const Executable executable(graph);
  ok(cuGraphLaunch(executable, stream));
  ok(cuStreamSynchronize(stream));
  CHECK((peek(here) == 5 && peek(there) == 5));
  ok(cuCtxPushCurrent(popped));
}

TEST_CASE("each entry of graphs can be made to fail") {
  const Primary primary;
  const Control control;
  const Graph graph;
  CUgraphExec executable = nullptr;
  REQUIRE(control.fail_nth("cuGraphInstantiate", 1, CUDA_ERROR_OUT_OF_MEMORY) ==
          control.fail_nth("cuGraphInstantiateWithFlags", 1, CUDA_ERROR_OUT_OF_MEMORY));
  CHECK(instantiate(&executable, graph) == CUDA_ERROR_OUT_OF_MEMORY);
  ok(instantiate(&executable, graph));
  REQUIRE(control.fail_nth("cuGraphLaunch", 1, CUDA_ERROR_UNKNOWN));
  CHECK(cuGraphLaunch(executable, nullptr) == CUDA_ERROR_UNKNOWN);
  ok(cuGraphLaunch(executable, nullptr));
  ok(cuCtxSynchronize());
  REQUIRE(control.fail_nth("cuGraphExecDestroy", 1, CUDA_ERROR_UNKNOWN));
  CHECK(cuGraphExecDestroy(executable) == CUDA_ERROR_UNKNOWN);
  CHECK(control.live("executable graph") == 0);
}

}  // namespace graph_test
