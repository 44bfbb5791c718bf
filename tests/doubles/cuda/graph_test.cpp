// SPDX-License-Identifier: Apache-2.0
//
// Graphs of the double: that they run by themselves, and each CUresult that their calls can give.
#include "test_support.h"

namespace graph_test {

namespace {

using test::Control;
using test::create_stream;
using test::each_gives;
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

struct Graph {
  CUgraph graph = nullptr;
  Graph() { ok(cuGraphCreate(&graph, 0)); }
  operator CUgraph() const noexcept { return graph; }  // NOLINT(google-explicit-constructor)

  CUgraphNode empty(const After& after = {}) const {
    CUgraphNode node = nullptr;
    ok(cuGraphAddEmptyNode(&node, graph, after.data(), after.size()));
    return node;
  }
  CUgraphNode set(CUcontext context, CUdeviceptr address, unsigned value, std::size_t count,
                  const After& after = {}) const {
    const CUDA_MEMSET_NODE_PARAMS asked{address, 0, value, 4, count, 1};
    CUgraphNode node = nullptr;
    ok(cuGraphAddMemsetNode(&node, graph, after.data(), after.size(), &asked, context));
    return node;
  }
  CUgraphNode call(CUhostFn function, void* user, const After& after = {}) const {
    const CUDA_HOST_NODE_PARAMS asked{function, user};
    CUgraphNode node = nullptr;
    ok(cuGraphAddHostNode(&node, graph, after.data(), after.size(), &asked));
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
    ok(cuGraphAddKernelNode(&node, graph, after.data(), after.size(), &asked));
    return node;
  }
};

CUgraphExec executable_of(CUgraph graph) {
  CUgraphExec executable = nullptr;
  ok(instantiate(&executable, graph));
  return executable;
}

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

TEST_CASE("a launch is not done when the call returns and its branches run beside each other") {
  const Primary primary;
  const CUdeviceptr words = test::allocate(8);
  ok(cuMemsetD32(words, 1, 2));
  ok(cuCtxSynchronize());
  test::Latch& latch = test::Latch::make();
  const CUevent done = test::create_event();
  const Graph graph;
  graph.set(primary, words, 2, 1, {graph.call(test::Latch::pass, &latch)});
  const CUgraphNode beside = graph.set(primary, words + 4, 2, 1);
  CUgraphNode recorded = nullptr;
  ok(cuGraphAddEventRecordNode(&recorded, graph, &beside, 1, done));
  ok(cuGraphLaunch(executable_of(graph), nullptr));
  ok(cuEventSynchronize(done));
  CHECK((peek(words) == 1 && peek(words + 4) == 2));
  CHECK(cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY);
  latch.open();
}

TEST_CASE("an update that changes more than parameters is refused with its reason and changes nothing") {
  const Primary primary;
  const CUdeviceptr words = test::allocate(8);
  const Graph graph, fewer, apart, others, wide;
  graph.set(primary, words + 4, 1, 1, {graph.set(primary, words, 1, 1)});
  const CUgraphExec executable = executable_of(graph);
  const auto check = [&](const Graph& with, CUgraphExecUpdateResult why, CUgraphNode node) {
    const Update made = update(executable, with);
    CHECK(made.result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK((made.why == why && made.node == node));
  };
  fewer.set(primary, words, 2, 1);
  check(fewer, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr);
  apart.set(primary, words, 2, 1);
  check(apart, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, apart.set(primary, words + 4, 2, 1));
  const CUgraphNode another = others.empty();
  others.set(primary, words, 2, 1, {another});
  check(others, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, another);
  const CUDA_MEMSET_NODE_PARAMS bytes{words, 0, 2, 1, 4, 1};
  CUgraphNode narrow = nullptr;
  ok(cuGraphAddMemsetNode(&narrow, wide, nullptr, 0, &bytes, primary));
  wide.set(primary, words, 2, 1, {narrow});
  check(wide, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, narrow);
  ok(cuGraphLaunch(executable, nullptr));
  ok(cuCtxSynchronize());
  CHECK((peek(words) == 1 && peek(words + 4) == 1));
}

TEST_CASE("a circle is found when the graph is made executable") {
  const Primary primary;
  const Graph graph;
  const CUgraphNode first = graph.empty();
  const CUgraphNode second = graph.empty({first});
  each_gives(CUDA_ERROR_INVALID_VALUE, {add_edge(graph, first, second),  // it is there
                                        add_edge(graph, first, first)});
  ok(add_edge(graph, second, first));
  CUgraphExec executable = nullptr;
  CHECK(instantiate(&executable, graph) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("what is another graph's or destroyed is refused and noted") {
  const Primary primary;
  const Control control;
  const Graph graph, other;
  const CUgraphNode own = graph.empty(), foreign = other.empty();
  const CUgraphNode twice[] = {own, own};
  CUgraphNode node = nullptr;
  each_gives(CUDA_ERROR_INVALID_VALUE,
             {cuGraphAddEmptyNode(&node, graph, twice, 2), cuGraphAddEmptyNode(&node, graph, nullptr, 1),
              cuGraphAddEmptyNode(nullptr, graph, nullptr, 0)});
  CHECK(control.misuses() == 0);
  each_gives(CUDA_ERROR_INVALID_VALUE, {cuGraphAddEmptyNode(&node, graph, &foreign, 1), add_edge(graph, own, foreign)});
  ok(cuGraphDestroyNode(foreign));
  each_gives(CUDA_ERROR_INVALID_VALUE, {cuGraphAddEmptyNode(&node, other, &foreign, 1), cuGraphDestroyNode(foreign)});
  CHECK(control.misuses() == 4);
  CHECK(node == nullptr);
  CUgraph gone = nullptr;
  ok(cuGraphCreate(&gone, 0));
  CUgraphExec executable = nullptr;
  ok(instantiate(&executable, gone));
  ok(cuGraphDestroy(gone));
  ok(cuGraphExecDestroy(executable));
  each_gives(CUDA_ERROR_INVALID_VALUE, {cuGraphDestroy(gone), instantiate(&executable, gone),
                                        cuGraphLaunch(executable, nullptr), cuGraphExecDestroy(executable)});
  CHECK(control.misuses() == 8);
  each_gives(CUDA_ERROR_INVALID_VALUE, {cuGraphCreate(&gone, 1), cuGraphCreate(nullptr, 0)});
}

TEST_CASE("parameters that a call for a stream would refuse are refused") {
  const Primary primary;
  const test::Kernels kernels;
  const CUdeviceptr word = test::allocate(4);
  const Graph graph;
  CUgraphNode node = nullptr;
  const auto fill = [&](CUDA_MEMSET_NODE_PARAMS asked, CUcontext context) {
    return cuGraphAddMemsetNode(&node, graph, nullptr, 0, &asked, context);
  };
  std::uint32_t host = 0;
  const auto copy = [&](std::size_t bytes, std::size_t depth, std::size_t pitch) {
    CUDA_MEMCPY3D asked = copy_of(&host, word, bytes);
    asked.Depth = depth;
    asked.srcPitch = pitch;
    return cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &asked, primary);
  };
  void* arguments[] = {&host, &host};
  void* extra[] = {CU_LAUNCH_PARAM_END};
  const auto launch = [&](void** values, void** more, unsigned threads) {
    CUDA_KERNEL_NODE_PARAMS asked{};
    asked.func = kernels["count"];
    asked.gridDimX = asked.gridDimY = asked.gridDimZ = asked.blockDimY = asked.blockDimZ = 1;
    asked.blockDimX = threads;
    asked.kernelParams = values;
    asked.extra = more;
    return cuGraphAddKernelNode(&node, graph, nullptr, 0, &asked);
  };
  const CUDA_HOST_NODE_PARAMS nothing{nullptr, nullptr};
  CHECK(fill({word, 0, 1, 4, 1, 1}, nullptr) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(copy(4, 2, 4) == CUDA_ERROR_NOT_SUPPORTED);
  each_gives(
      CUDA_ERROR_INVALID_VALUE,
      {fill({word, 0, 1, 3, 1, 1}, primary), fill({word, 0, 1, 4, 2, 1}, primary), fill({word, 0, 1, 4, 0, 1}, primary),
       copy(8, 1, 8), copy(4, 0, 4), copy(4, 1, 3), launch(nullptr, nullptr, 1), launch(arguments, extra, 1),
       launch(arguments, nullptr, 2000), cuGraphAddHostNode(&node, graph, nullptr, 0, &nothing),
       cuGraphAddEventRecordNode(&node, graph, nullptr, 0, nullptr)});
  std::size_t count = 9;
  ok(cuGraphGetNodes(graph, nullptr, &count));
  CHECK(count == 0);
}

TEST_CASE("a launch with memory, an event or a module that is gone is refused or faults, and is noted") {
  const Primary second(1);
  const CUstream there = create_stream();
  const CUdeviceptr word = test::allocate(4);
  const Graph fills;
  fills.set(second, word, 1, 1);
  const CUgraphExec fill = executable_of(fills);
  const Primary primary;
  const Control control;
  const CUstream stream = create_stream();
  const CUevent event = test::create_event();
  const Graph records;
  CUgraphNode node = nullptr;
  ok(cuGraphAddEventRecordNode(&node, records, nullptr, 0, event));
  const CUgraphExec record = executable_of(records);
  ok(cuEventDestroy(event));
  CHECK(cuGraphLaunch(record, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(control.misuses() == 1);
  const Graph launches;
  const CUdeviceptr counter = test::allocate(4);
  {
    const test::Kernels kernels;
    launches.launch(kernels["count"], {}, counter, 1u);
  }
  const CUgraphExec launch = executable_of(launches);
  ok(cuGraphLaunch(launch, stream));
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(control.misuses() == 2);
  ok(cuCtxPushCurrent(second));
  ok(cuMemFree(word));
  ok(cuGraphLaunch(fill, there));
  CHECK(cuStreamSynchronize(there) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(control.misuses() > 2);
}

}  // namespace graph_test
