// SPDX-License-Identifier: Apache-2.0
//
// Graphs of the double: what their nodes do and in which order, and each hipError_t that their calls can give.
#include "test_support.h"

namespace graph_test {

namespace {

using test::Control;
using test::create_stream;
using test::ok;

constexpr auto update_failure = static_cast<hipError_t>(910);  // which older headers lack

using After = std::vector<hipGraphNode_t>;

/// A graph, which goes at the end.
class Graph {
 public:
  Graph() { ok(hipGraphCreate(&graph_, 0)); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { static_cast<void>(hipGraphDestroy(graph_)); }
  operator hipGraph_t() const noexcept { return graph_; }  // NOLINT(google-explicit-constructor)

  hipGraphNode_t set(std::uint32_t* to, unsigned value, std::size_t count, const After& after = {}) const {
    hipMemsetParams asked{};
    asked.dst = to;
    asked.elementSize = 4;
    asked.value = value;
    asked.width = count;
    asked.height = 1;
    hipGraphNode_t node = nullptr;
    ok(hipGraphAddMemsetNode(&node, graph_, after.data(), after.size(), &asked));
    return node;
  }
  hipGraphNode_t call(hipHostFn_t function, void* user, const After& after = {}) const {
    const hipHostNodeParams asked{function, user};
    hipGraphNode_t node = nullptr;
    ok(hipGraphAddHostNode(&node, graph_, after.data(), after.size(), &asked));
    return node;
  }
  template <class... Values>
  hipGraphNode_t launch(hipFunction_t kernel, const After& after, Values... values) const {
    void* arguments[] = {&values..., nullptr};
    hipKernelNodeParams asked{};
    asked.func = kernel;
    asked.gridDim = asked.blockDim = dim3{1, 1, 1};
    asked.kernelParams = arguments;
    hipGraphNode_t node = nullptr;
    ok(hipGraphAddKernelNode(&node, graph_, after.data(), after.size(), &asked));
    return node;
  }

 private:
  hipGraph_t graph_ = nullptr;
};

hipGraphExec_t instantiate(hipGraph_t graph) {
  hipGraphExec_t executable = nullptr;
  ok(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  return executable;
}

}  // namespace

TEST_CASE("a graph's nodes run in the order of its edges, at each launch") {
  const hipStream_t stream = create_stream();
  std::uint32_t* const list = test::words(std::vector<std::uint32_t>(101));
  const hipFunction_t append = test::kernel("append");
  const Graph graph;
  hipGraphNode_t last = graph.set(list, 0, 101);
  for (std::uint32_t i = 0; i < 50; ++i) last = graph.launch(append, {last}, list, i);
  const hipGraphExec_t executable = instantiate(graph);
  for (int launch = 0; launch < 3; ++launch) {
    ok(hipGraphLaunch(executable, stream));
    ok(hipStreamSynchronize(stream));
    CHECK(list[0] == 50);
    for (std::uint32_t i = 0; i < 50; ++i) CHECK(list[1 + i] == i);
  }
  ok(hipGraphExecDestroy(executable));
}

TEST_CASE("a launch is not done when the call returns and its branches run beside each other") {
  const hipStream_t stream = create_stream();
  std::uint32_t* const words = test::words({1, 1});
  test::Latch& latch = test::Latch::make();
  const hipEvent_t done = test::create_event();
  const Graph graph;
  graph.set(words, 2, 1, {graph.call(test::Latch::pass, &latch)});
  const hipGraphNode_t beside = graph.set(words + 1, 2, 1);
  hipGraphNode_t node = nullptr;
  ok(hipGraphAddEventRecordNode(&node, graph, &beside, 1, done));
  const hipGraphExec_t executable = instantiate(graph);
  ok(hipGraphLaunch(executable, stream));
  ok(hipEventSynchronize(done));
  CHECK(words[0] == 1);
  CHECK(words[1] == 2);
  CHECK(hipStreamQuery(stream) == hipErrorNotReady);
  latch.open();
  ok(hipStreamSynchronize(stream));
  CHECK(words[0] == 2);
  ok(hipGraphExecDestroy(executable));
}

TEST_CASE("copies of a graph are of one piece or of lines") {
  const hipStream_t stream = create_stream();
  std::uint32_t* const words = test::words(std::vector<std::uint32_t>(16));
  std::uint32_t host[4] = {1, 2, 3, 4};
  const Graph graph;
  hipGraphNode_t first = nullptr, second = nullptr;
  ok(hipGraphAddMemcpyNode1D(&first, graph, nullptr, 0, words, host, 16, hipMemcpyHostToDevice));
  hipMemcpy3DParms lines{};
  lines.srcPtr = {words, 8, 8, 2};
  lines.dstPtr = {words + 8, 16, 16, 2};
  lines.extent = {8, 2, 1};
  lines.kind = hipMemcpyDeviceToDevice;
  ok(hipGraphAddMemcpyNode(&second, graph, &first, 1, &lines));
  const hipGraphExec_t executable = instantiate(graph);
  ok(hipGraphLaunch(executable, stream));
  ok(hipStreamSynchronize(stream));
  CHECK((words[8] == 1 && words[9] == 2 && words[12] == 3 && words[13] == 4));
  ok(hipGraphExecDestroy(executable));
  lines.srcPtr.pitch = 7;
  CHECK(hipGraphAddMemcpyNode(&second, graph, &first, 1, &lines) == hipErrorInvalidPitchValue);
  CHECK(hipGraphAddMemcpyNode1D(&first, graph, nullptr, 0, words, host, 1000, hipMemcpyHostToDevice) ==
        hipErrorInvalidValue);
}

TEST_CASE("an executable graph that is destroyed while it runs runs to its end") {
  const hipStream_t stream = create_stream();
  std::uint32_t* const word = test::words({1});
  test::Latch& latch = test::Latch::make();
  {
    const Graph graph;
    graph.set(word, 9, 1, {graph.call(test::Latch::pass, &latch)});
    const hipGraphExec_t executable = instantiate(graph);
    ok(hipGraphLaunch(executable, stream));
    ok(hipGraphExecDestroy(executable));
  }
  latch.open();
  ok(hipStreamSynchronize(stream));
  CHECK(*word == 9);
}

TEST_CASE("an update is for later launches, and one that changes more than parameters is refused") {
  const hipStream_t stream = create_stream();
  std::uint32_t* const words = test::words({1, 1});
  const Graph graph, later, fewer;
  graph.set(words, 2, 1, {graph.set(words + 1, 2, 1)});
  later.set(words, 3, 1, {later.set(words + 1, 3, 1)});
  fewer.set(words, 4, 1);
  const hipGraphExec_t executable = instantiate(graph);
  hipGraphNode_t node = nullptr;
  hipGraphExecUpdateResult why{};
  CHECK(hipGraphExecUpdate(executable, fewer, &node, &why) == update_failure);
  CHECK(why == hipGraphExecUpdateErrorTopologyChanged);
  ok(hipGraphLaunch(executable, stream));
  ok(hipStreamSynchronize(stream));
  CHECK((words[0] == 2 && words[1] == 2));
  ok(hipGraphExecUpdate(executable, later, &node, &why));
  CHECK(why == hipGraphExecUpdateSuccess);
  ok(hipGraphLaunch(executable, stream));
  ok(hipStreamSynchronize(stream));
  CHECK((words[0] == 3 && words[1] == 3));
  ok(hipGraphExecDestroy(executable));
}

TEST_CASE("circles, other graphs' nodes and what is destroyed are refused") {
  const Control control;
  const Graph graph, other;
  std::uint32_t* const word = test::words({1});
  const hipGraphNode_t first = graph.set(word, 1, 1), second = graph.set(word, 2, 1, {first});
  const hipGraphNode_t foreign = other.set(word, 1, 1);
  hipGraphNode_t node = nullptr;
  CHECK(hipGraphAddEmptyNode(&node, graph, &foreign, 1) == hipErrorInvalidValue);
  CHECK(control.misuses() == 1);
  ok(hipGraphAddDependencies(graph, &second, &first, 1));
  hipGraphExec_t executable = nullptr;
  CHECK(hipGraphInstantiate(&executable, graph, &node, nullptr, 0) == hipErrorInvalidValue);
  executable = instantiate(other);
  ok(hipGraphExecDestroy(executable));
  CHECK(hipGraphLaunch(executable, nullptr) == hipErrorInvalidValue);
  CHECK(hipGraphExecDestroy(executable) == hipErrorInvalidValue);
  CHECK(control.misuses() == 3);
}

TEST_CASE("a kernel node refuses what is no kernel and what a launch would refuse") {
  hipKernelNodeParams asked{};
  asked.gridDim = asked.blockDim = dim3{1, 1, 1};
  const Graph graph;
  hipGraphNode_t node = nullptr;
  CHECK(hipGraphAddKernelNode(&node, graph, nullptr, 0, &asked) == hipErrorInvalidDeviceFunction);
  asked.func = test::kernel("count");
  CHECK(hipGraphAddKernelNode(&node, graph, nullptr, 0, &asked) == hipErrorInvalidValue);  // no values
  asked.blockDim = dim3{1024, 2, 1};
  CHECK(hipGraphAddKernelNode(&node, graph, nullptr, 0, &asked) == hipErrorInvalidConfiguration);
}

TEST_CASE("a kernel node takes a module's kernel from HIP 5.3 on") {
  test::set_env("HIP_DOUBLE_VERSION", "50221153");
  std::uint32_t* const counter = test::words({0});
  std::uint32_t one = 1;
  void* arguments[] = {const_cast<std::uint32_t**>(&counter), &one};
  hipKernelNodeParams asked{};
  asked.func = test::kernel("count");
  asked.gridDim = asked.blockDim = dim3{1, 1, 1};
  asked.kernelParams = arguments;
  const Graph graph;
  hipGraphNode_t node = nullptr;
  CHECK(hipGraphAddKernelNode(&node, graph, nullptr, 0, &asked) == hipErrorInvalidValue);
}

TEST_CASE("a kernel node that faults loses the device, and no host function behind it is called") {
  const Control control;
  const hipStream_t stream = create_stream();
  std::uint32_t* const counter = test::words({0});
  bool called = false;
  const Graph graph;
  graph.call([](void* user) { *static_cast<bool*>(user) = true; }, &called,
             {graph.launch(test::kernel("count"), {}, counter, 1u)});
  const hipGraphExec_t executable = instantiate(graph);
  REQUIRE(control.fault_kernel(0, 1, hipErrorIllegalAddress));
  ok(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream) == hipErrorIllegalAddress);
  CHECK(hipGraphLaunch(executable, stream) == hipErrorIllegalAddress);
  CHECK_FALSE(called);
  CHECK(hipGraphExecDestroy(executable) == hipSuccess);
}

}  // namespace graph_test
