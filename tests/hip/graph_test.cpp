// SPDX-License-Identifier: Apache-2.0
//
// Graphs as HIP alone has them: no updates while work is pending, and releases that take no module's kernels.
#include "cuda_and_hip/graphs.h"

#include "cli/run_command.h"
#include "cuda_and_hip/outcome.h"

namespace hip_graph_test {

namespace {

using namespace vendor_test;

}  // namespace

TEST_CASE("While work is pending an update is unsupported and changes nothing") {
  const Graphs on;
  Latch latch;
  Nodes nodes, other;
  nodes.call(Latch::call, &latch);
  nodes.fill(on.kernel, on.a, Graphs::count, 3, {0});
  other.call(Latch::call, &latch);
  other.fill(on.kernel, on.a, Graphs::count, 4, {0});
  const anyplace_graph graph = on.make(nodes);
  on.launch(graph);
  CHECK(on.update(graph, other) == ANYPLACE_STATUS_UNSUPPORTED);
  CHECK_THAT(Plugin::message(), contains("work is pending"));
  latch.let_go();
  CHECK(on.read(on.a) == Graphs::all(3));
  Plugin::check(on.update(graph, other));
  on.launch(graph);
  CHECK(on.read(on.a) == Graphs::all(4));
  on.destroy(graph);
}

TEST_CASE("A release that takes no module's kernels in graphs has graphs and refuses those nodes alone") {
  Graphs on({{"HIP_DOUBLE_VERSION", "50221153"}});
  CHECK(on.plugin.has(0, ANYPLACE_CAPABILITY_BIT_GRAPHS));
  anyplace_graph graph = 0;
  Nodes nodes;
  nodes.fill(on.kernel, on.a, Graphs::count, 5);
  CHECK(on.create(nodes, graph) == ANYPLACE_STATUS_UNSUPPORTED);
  Nodes others;
  others.set(on.a, 5, 4, Graphs::count);
  graph = on.make(others);
  on.launch(graph);
  CHECK(on.read(on.a) == Graphs::all(5));
  on.destroy(graph);
}

TEST_CASE("A release without graphs has none") {
  const anyplace::test::Variables variables{{"LD_LIBRARY_PATH", ANYPLACE_HIP_BARE}};
  const anyplace::test::Run info = anyplace::test::run_command({"info", "hip:0"}, variables);
  CHECK(info.status == 0);
  CHECK_THAT(info.out, Catch::Contains("no   graphs"));
}

TEST_CASE("Making and launching a graph changes no current device and leaves no last error") {
  const Graphs on;
  set_current_device(1);
  Nodes nodes, wrong;
  nodes.set(on.a, 5, 4, Graphs::count);
  wrong.set(on.a, 5, 4, Graphs::count);
  wrong.set(on.a, 5, 4, Graphs::count, {0});
  const anyplace_graph graph = on.make(nodes);
  on.launch(graph);
  on.synchronize();
  CHECK(on.update(graph, wrong) == ANYPLACE_STATUS_UNSUPPORTED);
  CHECK(on.read(on.a) == Graphs::all(5));
  on.destroy(graph);
  CHECK(current_device() == 1);
  CHECK(vendor<hipError_t()>("hipPeekAtLastError")() == hipSuccess);
}

}  // namespace hip_graph_test
