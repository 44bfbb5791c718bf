// SPDX-License-Identifier: Apache-2.0
//
// Graphs over the vendor's own, through the table: what the vendor has no nodes for, updates that it makes and those
// that it doesn't, loss.
#include <algorithm>

#include "graphs.h"
#include "outcome.h"

namespace graph_test {

namespace {

using namespace vendor_test;

}  // namespace

TEST_CASE("Branches do not wait for each other") {
  const Graphs on;
  Latch latch;
  Nodes nodes;
  nodes.call(Latch::call, &latch);
  const anyplace_event beside = on.make_event();
  nodes.set(on.a, 3, 4, Graphs::count);
  nodes.event(ANYPLACE_GRAPH_NODE_EVENT_RECORD, beside, {1});
  const anyplace_graph graph = on.make(nodes);
  on.launch(graph);
  CHECK(on.plugin->event_synchronize(on.self(), beside, ANYPLACE_FOREVER) == ANYPLACE_STATUS_OK);
  CHECK_FALSE(on.plugin.is_done(on.stream));
  latch.let_go();
  on.synchronize();
  on.destroy(graph);
  Plugin::check(on.plugin->event_destroy(on.self(), beside));
}

TEST_CASE("Nodes that copy or fill nothing are nodes that do nothing") {
  const Graphs on;
  Count count;
  Nodes nodes;
  nodes.copy(ANYPLACE_COPY_DEVICE_TO_DEVICE, on.b, on.a, 0);
  nodes.set(on.a, 1, 4, 0, {0});
  nodes.call(Count::call, &count, {1});
  const anyplace_graph graph = on.make(nodes);
  on.launch(graph);
  on.synchronize();
  CHECK(count.made == 1);
  on.destroy(graph);
}

TEST_CASE("An event that a graph records stays the same while a thread waits for it with a limit") {
  Graphs on;
  Latch latch;
  const anyplace_stream other = on.plugin.make_stream(0);
  const anyplace_event event = on.make_event();
  Nodes nodes;
  nodes.event(ANYPLACE_GRAPH_NODE_EVENT_RECORD, event);
  const anyplace_graph graph = on.make(nodes);
  Plugin::check(on.plugin->stream_host_function(on.self(), other, Latch::call, &latch));
  Plugin::check(on.plugin->event_record(on.self(), event, other));
  CHECK(on.plugin->event_synchronize(on.self(), event, 1'000'000) == ANYPLACE_STATUS_TIMEOUT);
  on.launch(graph);
  on.synchronize();
  CHECK(on.is_done(event));
  latch.let_go();
  on.plugin.synchronize(other);
  on.destroy(graph);
  Plugin::check(on.plugin->event_destroy(on.self(), event));
  Plugin::check(on.plugin->stream_destroy(on.self(), other));
}

TEST_CASE("A wait with a limit and a synchronisation of the device cover a graph that runs") {
  const Graphs on;
  Latch latch;
  Nodes nodes;
  nodes.call(Latch::call, &latch);
  const anyplace_graph graph = on.make(nodes);
  on.launch(graph);
  CHECK(on.plugin->stream_synchronize(on.self(), on.stream, 1'000'000) == ANYPLACE_STATUS_TIMEOUT);
  CHECK(on.plugin->device_synchronize(on.self(), 0, 1'000'000) == ANYPLACE_STATUS_TIMEOUT);
  latch.let_go();
  CHECK(on.plugin->device_synchronize(on.self(), 0, ANYPLACE_FOREVER) == ANYPLACE_STATUS_OK);
  on.destroy(graph);
}

// The conformance suite has no update of a module's kernel.
TEST_CASE("An update changes what later launches do") {
  const Graphs on;
  Count before, after;
  std::vector<std::uint32_t> back(Graphs::count);
  const auto describe = [&](std::uint32_t value, Count& count, anyplace_address memory) {
    Nodes nodes;
    nodes.set(memory, value, 4, Graphs::count);
    nodes.fill(on.kernel, memory, 64, value + 1, {0});
    nodes.copy(ANYPLACE_COPY_DEVICE_TO_HOST, Graphs::address(back), memory, Graphs::bytes, {1});
    nodes.call(Count::call, &count, {2});
    return nodes;
  };
  const anyplace_graph graph = on.make(describe(1, before, on.a));
  on.launch(graph);
  on.synchronize();
  CHECK(back[0] == 2);
  CHECK(back[64] == 1);
  Plugin::check(on.update(graph, describe(5, after, on.b)));
  on.launch(graph);
  on.synchronize();
  CHECK(back[0] == 6);
  CHECK(back[64] == 5);
  CHECK(before.made == 1);
  CHECK(after.made == 1);
  CHECK(on.read(on.a)[0] == 2);
  on.destroy(graph);
}

TEST_CASE("An update that the vendor does not make is unsupported and leaves the graph as it was") {
  const Graphs on;
  Nodes nodes;
  nodes.set(on.a, 1, 4, Graphs::count);
  nodes.set(on.b, 1, 4, Graphs::count, {0});
  const anyplace_graph graph = on.make(nodes);
  Nodes fewer, apart, others, wider;
  fewer.set(on.a, 2, 4, Graphs::count);
  apart.set(on.a, 2, 4, Graphs::count);
  apart.set(on.b, 2, 4, Graphs::count);
  others.set(on.a, 2, 4, Graphs::count);
  others.fill(on.kernel, on.b, Graphs::count, 2, {0});
  wider.set(on.a, 2, 2, Graphs::count);
  wider.set(on.b, 2, 4, Graphs::count, {0});
  for (const Nodes* changed : {&fewer, &apart, &others, &wider}) {
    CHECK(on.update(graph, *changed) == ANYPLACE_STATUS_UNSUPPORTED);
    CHECK(Plugin::vendor_code() == result::graph_update_failure);
  }
  on.launch(graph);
  CHECK(on.read(on.a) == Graphs::all(1));
  CHECK(on.read(on.b) == Graphs::all(1));
  on.destroy(graph);
}

TEST_CASE("Host functions that updates left behind are kept so far and no further") {
  const Graphs on;
  std::vector<Count> counts(2000);
  anyplace_graph graph = 0;
  std::size_t made = 0;
  for (Count& count : counts) {
    Nodes nodes;
    nodes.call(Count::call, &count);
    const anyplace_status status = graph == 0 ? on.create(nodes, graph) : on.update(graph, nodes);
    if (status != ANYPLACE_STATUS_OK) {
      CHECK(status == ANYPLACE_STATUS_UNSUPPORTED);
      break;
    }
    ++made;
  }
  CHECK(made >= 1000);
  CHECK(made < counts.size());
  on.launch(graph);
  on.synchronize();
  CHECK(counts[made - 1].made == 1);
  on.destroy(graph);
}

TEST_CASE("What a graph of the vendor's can not have is unsupported and nothing is left") {
  const Graphs on;
  anyplace_graph graph = 0;
  const std::uint64_t live = on.driver.live();
  {
    Nodes nodes;
    nodes.empty();
    nodes.copy(ANYPLACE_COPY_DEVICE_TO_DEVICE, on.b, on.a, 64, {0});
    nodes[1].destination_device = 1;
    CHECK(on.create(nodes, graph) == ANYPLACE_STATUS_UNSUPPORTED);
  }
  for (const std::uint32_t kind : {ANYPLACE_GRAPH_NODE_CHILD_GRAPH, ANYPLACE_GRAPH_NODE_STAGED_COPY}) {
    Nodes nodes;
    nodes.empty();
    nodes[0].kind = kind;
    CHECK(on.create(nodes, graph) == ANYPLACE_STATUS_UNSUPPORTED);
  }
  {
    Nodes nodes;
    nodes.copy(9, on.b, on.a, 64);
    CHECK(on.create(nodes, graph) == ANYPLACE_STATUS_UNSUPPORTED);
  }
  {
    Nodes nodes;
    nodes.copy_2d(
        {sizeof(anyplace_copy_2d), ANYPLACE_COPY_DEVICE_TO_DEVICE, on.b, std::uint64_t{1} << 40, on.a, 64, 64, 2});
    CHECK(on.create(nodes, graph) == ANYPLACE_STATUS_UNSUPPORTED);
  }
  {
    Nodes nodes;
    nodes.set(on.a, 1, 3, 4);
    CHECK(on.create(nodes, graph) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  }
  CHECK(on.driver.live() == live);
}

TEST_CASE("A kernel of a graph that faults loses the device and no host function behind it is called") {
  const Graphs on;
  Count count;
  Nodes nodes;
  nodes.fill(on.kernel, on.a, Graphs::count, 1);
  nodes.call(Count::call, &count, {0});
  const anyplace_graph graph = on.make(nodes);
  REQUIRE(on.driver.fault_kernel(0, 1, result::illegal_address));
  on.launch(graph);
  CHECK(on.plugin->stream_synchronize(on.self(), on.stream, ANYPLACE_FOREVER) == ANYPLACE_STATUS_DEVICE_LOST);
  CHECK(Plugin::vendor_code() == result::illegal_address);
  CHECK(on.plugin->graph_launch(on.self(), graph, on.stream) == ANYPLACE_STATUS_DEVICE_LOST);
  CHECK(on.update(graph, nodes) == ANYPLACE_STATUS_DEVICE_LOST);
  anyplace_graph other = 0;
  CHECK(on.create(nodes, other) == ANYPLACE_STATUS_DEVICE_LOST);
  CHECK(on.plugin->graph_destroy(on.self(), graph) == ANYPLACE_STATUS_OK);
  CHECK(count.made == 0);
}

TEST_CASE("A graph of a lost device is destroyed while the vendor may still come with its host functions") {
  const Graphs on;
  auto count = std::make_unique<Count>();
  Latch latch;
  Nodes nodes;
  nodes.call(Latch::call, &latch);
  nodes.call(Count::call, count.get(), {0});
  const anyplace_graph graph = on.make(nodes);
  on.driver.hold(0, true);
  on.launch(graph);
  REQUIRE(on.driver.fail_device(0, result::launch_failed));
  CHECK(on.plugin->stream_synchronize(on.self(), on.stream, ANYPLACE_FOREVER) == ANYPLACE_STATUS_DEVICE_LOST);
  CHECK(on.plugin->graph_destroy(on.self(), graph) == ANYPLACE_STATUS_OK);
  count.reset();
  on.driver.hold(0, false);
  latch.let_go();
}

TEST_CASE("Without " LIBRARY "'s graphs the devices have none") {
  CHECK(has(outcome_with({}), "graphs"));
  const auto [name, value] = without_graphs;
  const std::string outcome = outcome_with({{name, value}});
  CHECK_THAT(outcome, Catch::StartsWith("ok"));
  CHECK_FALSE(has(outcome, "graphs"));
}

}  // namespace graph_test
