// SPDX-License-Identifier: Apache-2.0
//
// Graphs as CUDA alone has them: updates under way, drivers that lack a part, another library's contexts.
#include <thread>

#include "cuda_and_hip/graphs.h"
#include "cuda_and_hip/outcome.h"
#include "support.h"

namespace cuda_graph_test {

namespace {

using namespace cuda_test;

}  // namespace

TEST_CASE("An update leaves alone the launches that were made before it") {
  const Graphs on;
  Latch latch;
  Count before, after;
  const auto describe = [&](std::uint32_t value, Count& count) {
    Nodes nodes;
    nodes.call(Latch::call, &latch);
    nodes.fill(on.kernel, on.a, Graphs::count, value, {0});
    nodes.call(Count::call, &count, {1});
    return nodes;
  };
  const anyplace_graph graph = on.make(describe(3, before));
  on.launch(graph);
  Plugin::check(
      on.plugin->memory_copy(on.self(), on.stream, on.b, on.a, Graphs::bytes, ANYPLACE_COPY_DEVICE_TO_DEVICE));
  Plugin::check(on.update(graph, describe(4, after)));
  on.launch(graph);
  CHECK_FALSE(on.plugin.is_done(on.stream));
  latch.let_go();
  CHECK(on.read(on.b) == Graphs::all(3));
  CHECK(on.read(on.a) == Graphs::all(4));
  CHECK(before.made == 1);
  CHECK(after.made == 1);
  on.destroy(graph);
}

TEST_CASE("A driver without nodes for events has graphs and refuses those nodes alone") {
  Graphs on({{"CUDA_DOUBLE_DRIVER_VERSION", "11000"}});
  CHECK(on.plugin.has(0, ANYPLACE_CAPABILITY_BIT_GRAPHS));
  const anyplace_event event = on.make_event();
  anyplace_graph graph = 0;
  for (const std::uint32_t kind : {ANYPLACE_GRAPH_NODE_EVENT_RECORD, ANYPLACE_GRAPH_NODE_EVENT_WAIT}) {
    Nodes nodes;
    nodes.event(kind, event);
    CHECK(on.create(nodes, graph) == ANYPLACE_STATUS_UNSUPPORTED);
  }
  Nodes nodes;
  nodes.fill(on.kernel, on.a, Graphs::count, 5);
  graph = on.make(nodes);
  on.launch(graph);
  CHECK(on.read(on.a) == Graphs::all(5));
  on.destroy(graph);
  Plugin::check(on.plugin->event_destroy(on.self(), event));
}

TEST_CASE("Each call that graphs can not do without takes the capability along") {
  for (const char* entry : call::of_graphs) {
    const std::string name = entry;
    if (name.find("Event") != std::string::npos) continue;
    INFO(name);
    const std::string outcome = outcome_with({{"CUDA_DOUBLE_MISSING", name}});
    CHECK_THAT(outcome, Catch::StartsWith("ok"));
    CHECK_FALSE(has(outcome, "graphs"));
  }
}

TEST_CASE("Arguments of a graph's kernel that do not fit it are refused") {
  const Graphs on;
  Nodes nodes;
  nodes.fill(on.kernel, on.a, Graphs::count, 5);
  anyplace_launch launch = *nodes[0].launch;
  nodes[0].launch = &launch;
  anyplace_graph graph = 0;
  launch.argument_count = 2;
  CHECK(on.create(nodes, graph) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  launch.argument_count = 3;
  launch.shared_bytes = std::uint64_t{1} << 30;
  CHECK(on.create(nodes, graph) == ANYPLACE_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("Graphs work beside a context of another library, current or destroyed") {
  const Graphs on;
  Nodes nodes;
  nodes.set(on.a, 5, 4, Graphs::count);
  nodes.fill(on.kernel, on.b, Graphs::count, 6, {0});
  const auto check_all = [&] {
    const anyplace_graph graph = on.make(nodes);
    on.launch(graph);
    Plugin::check(on.update(graph, nodes));
    on.launch(graph);
    CHECK(on.read(on.b) == Graphs::all(6));
    on.destroy(graph);
  };
  {
    const OtherContext other(0);
    check_all();
    CHECK(current_context() == other.get());
  }
  const DestroyedContext destroyed(0);
  check_all();
}

TEST_CASE("The backend's thread does not spoil a capture that another library has going") {
  const Graphs on;
  Latch latch;
  std::uint64_t context = 0;
  Plugin::check(on.plugin->device_native(on.self(), 0, ANYPLACE_NATIVE_CONTEXT, &context));
  REQUIRE(vendor<CUresult(CUcontext)>("cuCtxSetCurrent")(reinterpret_cast<CUcontext>(context)) == CUDA_SUCCESS);
  CUstream theirs = nullptr;
  REQUIRE(vendor<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&theirs, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  // The second one is pending, which the backend's thread looks after, with questions that a capture of this kind
  // forbids to all threads.
  Count behind;
  Plugin::check(on.plugin->stream_host_function(on.self(), on.stream, Latch::call, &latch));
  Plugin::check(on.plugin->stream_host_function(on.self(), on.stream, Count::call, &behind));
  const auto begin = vendor<CUresult(CUstream, CUstreamCaptureMode)>("cuStreamBeginCapture_v2");
  REQUIRE(begin(theirs, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  const std::uint64_t before = on.driver.calls_of("cuStreamQuery");
  while (on.driver.calls_of("cuStreamQuery") < before + 3) std::this_thread::yield();
  CUgraph graph = nullptr;
  CHECK(vendor<CUresult(CUstream, CUgraph*)>("cuStreamEndCapture")(theirs, &graph) == CUDA_SUCCESS);
  CHECK(vendor<CUresult(CUgraph)>("cuGraphDestroy")(graph) == CUDA_SUCCESS);
  latch.let_go();
  on.synchronize();
  CHECK(vendor<CUresult(CUstream)>("cuStreamDestroy_v2")(theirs) == CUDA_SUCCESS);
}

}  // namespace cuda_graph_test
