// SPDX-License-Identifier: Apache-2.0
//
// Graphs over the vendor's own, through the table: what each kind of node does, updates, order, loss.
#include <algorithm>

#include "graphs.h"
#include "outcome.h"

namespace graph_test {

namespace {

using namespace vendor_test;

}  // namespace

TEST_CASE("A chain of nodes runs in its order at each launch") {
  const Graphs on;
  std::vector<std::uint32_t> back(Graphs::count);
  Nodes nodes;
  nodes.set(on.a, 1, 4, Graphs::count);
  nodes.fill(on.kernel, on.a, 128, 7, {0});
  nodes.copy(ANYPLACE_COPY_DEVICE_TO_DEVICE, on.b, on.a, Graphs::bytes, {1});
  nodes.copy(ANYPLACE_COPY_DEVICE_TO_HOST, Graphs::address(back), on.b, Graphs::bytes, {2});
  nodes.set(on.a, 9, 4, Graphs::count, {3});
  const anyplace_graph graph = on.make(nodes);
  std::vector<std::uint32_t> expected = Graphs::all(1);
  std::fill_n(expected.begin(), 128, 7);
  for (int launch = 0; launch < 3; ++launch) {
    back.assign(Graphs::count, 0);
    on.launch(graph);
    on.synchronize();
    CHECK(back == expected);
    CHECK(on.read(on.a) == Graphs::all(9));
  }
  on.destroy(graph);
}

TEST_CASE("What joins two branches comes after both and what forks them before both") {
  const Graphs on({{DOUBLE_VARIABLE("SEED"), "7"}});
  std::vector<std::uint32_t> left(Graphs::count), right(Graphs::count);
  Nodes nodes;
  nodes.set(on.a, 1, 4, Graphs::count);
  nodes.copy(ANYPLACE_COPY_DEVICE_TO_HOST, Graphs::address(left), on.a, Graphs::bytes, {0});
  nodes.fill(on.kernel, on.b, Graphs::count, 5, {0});
  nodes.copy(ANYPLACE_COPY_DEVICE_TO_HOST, Graphs::address(right), on.b, Graphs::bytes, {2});
  nodes.empty({1, 3});
  nodes.set(on.a, 2, 4, Graphs::count, {4});
  nodes.set(on.b, 2, 4, Graphs::count, {4});
  const anyplace_graph graph = on.make(nodes);
  for (int launch = 0; launch < 20; ++launch) {
    on.launch(graph);
    on.synchronize();
    REQUIRE(left == Graphs::all(1));
    REQUIRE(right == Graphs::all(5));
    REQUIRE(on.read(on.a) == Graphs::all(2));
  }
  on.destroy(graph);
}

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

TEST_CASE("A host function of a graph is called once at each launch and never beside the work that it comes after") {
  const Graphs on;
  struct Seen {
    const std::vector<std::uint32_t>* numbers;
    std::vector<std::uint32_t> last;
    int calls = 0;
  };
  std::vector<std::uint32_t> back(Graphs::count);
  Seen seen{&back, {}};
  Nodes nodes;
  nodes.fill(on.kernel, on.a, Graphs::count, 4);
  nodes.copy(ANYPLACE_COPY_DEVICE_TO_HOST, Graphs::address(back), on.a, Graphs::bytes, {0});
  const auto look = [](void* user, anyplace_status status) {
    auto& to = *static_cast<Seen*>(user);
    to.last = *to.numbers;
    if (status == ANYPLACE_STATUS_OK) ++to.calls;
  };
  nodes.call(look, &seen, {1});
  const anyplace_graph graph = on.make(nodes);
  for (int launch = 1; launch <= 5; ++launch) {
    back.assign(Graphs::count, 0);
    on.launch(graph);
    on.synchronize();
    CHECK(seen.calls == launch);
    CHECK(seen.last == Graphs::all(4));
  }
  on.destroy(graph);
  CHECK(seen.calls == 5);
}

TEST_CASE("Two host functions of a graph that are the same but for what they are given are both called") {
  const Graphs on;
  Count first, second;
  Nodes nodes;
  nodes.call(Count::call, &first);
  nodes.call(Count::call, &second, {0});
  nodes.call(Count::call, &first, {1});
  const anyplace_graph graph = on.make(nodes);
  on.launch(graph);
  on.synchronize();
  CHECK(first.made == 2);
  CHECK(second.made == 1);
  on.destroy(graph);
}

TEST_CASE("Copies of a graph take pitches in each direction") {
  const Graphs on;
  std::vector<std::uint32_t> host(64), back(64);
  for (std::uint32_t i = 0; i < 64; ++i) host[i] = i;
  Nodes nodes;
  const auto lines = [&](std::uint32_t kind, anyplace_address destination, std::uint64_t destination_pitch,
                         anyplace_address source, std::uint64_t source_pitch) -> anyplace_copy_2d {
    return {sizeof(anyplace_copy_2d), kind, destination, destination_pitch, source, source_pitch, 16, 8};
  };
  nodes.set(on.a, 0, 4, Graphs::count);
  nodes.set(on.b, 0, 4, Graphs::count);
  nodes.copy_2d(lines(ANYPLACE_COPY_HOST_TO_DEVICE, on.a, 64, Graphs::address(host), 32), {0, 1});
  nodes.copy_2d(lines(ANYPLACE_COPY_DEVICE_TO_DEVICE, on.b, 128, on.a, 64), {2});
  nodes.copy_2d(lines(ANYPLACE_COPY_DEVICE_TO_HOST, Graphs::address(back), 16, on.b, 128), {3});
  const anyplace_graph graph = on.make(nodes);
  on.launch(graph);
  on.synchronize();
  for (std::uint32_t row = 0; row < 8; ++row) {
    for (std::uint32_t i = 0; i < 4; ++i) CHECK(back[row * 4 + i] == row * 8 + i);
  }
  CHECK(back[32] == 0);
  on.destroy(graph);
}

TEST_CASE("Fills of a graph have elements of each width and take the low bytes of the value") {
  const Graphs on;
  Nodes nodes;
  nodes.set(on.a, 0, 4, Graphs::count);
  nodes.set(on.a, 0xabcdef01, 1, 4, {0});
  nodes.set(on.a + 4, 0xabcdef01, 2, 2, {0});
  nodes.set(on.a + 8, 0xabcdef01, 4, 1, {0});
  const anyplace_graph graph = on.make(nodes);
  on.launch(graph);
  const std::vector<std::uint32_t> found = on.read(on.a);
  CHECK(found[0] == 0x01010101);
  CHECK(found[1] == 0xef01ef01);
  CHECK(found[2] == 0xabcdef01);
  CHECK(found[3] == 0);
  on.destroy(graph);
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

TEST_CASE("A graph waits for the record of an event that was the most recent at its launch") {
  Graphs on;
  Latch latch;
  const anyplace_stream other = on.plugin.make_stream(0);
  const anyplace_event event = on.make_event();
  Nodes nodes;
  nodes.event(ANYPLACE_GRAPH_NODE_EVENT_WAIT, event);
  nodes.set(on.a, 6, 4, Graphs::count, {0});
  const anyplace_graph graph = on.make(nodes);
  on.launch(graph);  // never recorded: no wait
  on.synchronize();
  Plugin::check(on.plugin->stream_host_function(on.self(), other, Latch::call, &latch));
  Plugin::check(on.plugin->event_record(on.self(), event, other));
  on.launch(graph);
  CHECK(on.plugin->stream_synchronize(on.self(), on.stream, 1'000'000) == ANYPLACE_STATUS_TIMEOUT);
  latch.let_go();
  on.synchronize();
  CHECK(on.read(on.a) == Graphs::all(6));
  on.destroy(graph);
  Plugin::check(on.plugin->event_destroy(on.self(), event));
  Plugin::check(on.plugin->stream_destroy(on.self(), other));
}

TEST_CASE("A graph records an event that others wait for") {
  Graphs on;
  Latch latch;
  const anyplace_stream other = on.plugin.make_stream(0);
  const anyplace_event event = on.make_event();
  Nodes nodes;
  nodes.call(Latch::call, &latch);
  nodes.set(on.a, 8, 4, Graphs::count, {0});
  nodes.event(ANYPLACE_GRAPH_NODE_EVENT_RECORD, event, {1});
  const anyplace_graph graph = on.make(nodes);
  on.launch(graph);
  CHECK_FALSE(on.is_done(event));
  Plugin::check(on.plugin->stream_wait_event(on.self(), other, event));
  std::vector<std::uint32_t> back(Graphs::count);
  Plugin::check(on.plugin->memory_copy(on.self(), other, on.b, on.a, Graphs::bytes, ANYPLACE_COPY_DEVICE_TO_DEVICE));
  CHECK_FALSE(on.plugin.is_done(other));
  latch.let_go();
  on.plugin.synchronize(other);
  CHECK(on.is_done(event));
  CHECK(on.read(on.b) == Graphs::all(8));
  on.destroy(graph);
  Plugin::check(on.plugin->event_destroy(on.self(), event));
  Plugin::check(on.plugin->stream_destroy(on.self(), other));
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

TEST_CASE("A launch begins behind what was in its stream and later work waits for all of it") {
  const Graphs on({{DOUBLE_VARIABLE("SEED"), "3"}});
  Nodes nodes;
  nodes.copy(ANYPLACE_COPY_DEVICE_TO_DEVICE, on.b, on.a, Graphs::bytes);
  nodes.empty();
  const anyplace_graph graph = on.make(nodes);
  for (std::uint32_t round = 1; round <= 20; ++round) {
    on.set(on.a, round);
    on.launch(graph);
    on.set(on.a, 0);
    REQUIRE(on.read(on.b) == Graphs::all(round));
  }
  on.destroy(graph);
}

TEST_CASE("Launches of a graph come one after the other also from two streams") {
  Graphs on;
  Latch latch;
  const anyplace_stream other = on.plugin.make_stream(0);
  const anyplace_event event = on.make_event();
  Nodes nodes;
  nodes.call(Latch::call, &latch);
  nodes.set(on.a, 2, 4, Graphs::count, {0});
  const anyplace_graph graph = on.make(nodes);
  on.launch(graph);
  Plugin::check(on.plugin->event_record(on.self(), event, on.stream));
  Plugin::check(on.plugin->stream_wait_event(on.self(), other, event));
  Plugin::check(on.plugin->graph_launch(on.self(), graph, other));
  CHECK_FALSE(on.plugin.is_done(other));
  latch.let_go();
  on.plugin.synchronize(other);
  on.destroy(graph);
  Plugin::check(on.plugin->event_destroy(on.self(), event));
  Plugin::check(on.plugin->stream_destroy(on.self(), other));
}

TEST_CASE("A launch in the default stream waits for blocking streams as other work does") {
  Graphs on;
  Latch latch;
  anyplace_stream_desc desc{};
  desc.struct_size = sizeof(desc);
  desc.flags = ANYPLACE_STREAM_BLOCKING;
  anyplace_stream blocking = 0, standard = 0;
  Plugin::check(on.plugin->stream_create(on.self(), 0, &desc, &blocking));
  Plugin::check(on.plugin->stream_default(on.self(), 0, &desc, &standard));
  Nodes nodes;
  nodes.set(on.a, 2, 4, Graphs::count);
  const anyplace_graph graph = on.make(nodes);
  Plugin::check(on.plugin->stream_host_function(on.self(), blocking, Latch::call, &latch));
  Plugin::check(on.plugin->graph_launch(on.self(), graph, standard));
  CHECK_FALSE(on.plugin.is_done(standard));
  latch.let_go();
  on.plugin.synchronize(standard);
  CHECK(on.read(on.a) == Graphs::all(2));
  on.destroy(graph);
  Plugin::check(on.plugin->stream_destroy(on.self(), blocking));
  Plugin::check(on.plugin->stream_destroy(on.self(), standard));
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

TEST_CASE("What a description points to is the caller's again once the graph is made") {
  const Graphs on;
  anyplace_graph graph = 0;
  {
    Nodes nodes;
    nodes.fill(on.kernel, on.a, Graphs::count, 11);
    graph = on.make(nodes);
    nodes.value_of_launch(0) = 12;
    nodes[0].kind = ANYPLACE_GRAPH_NODE_EMPTY;
  }
  on.launch(graph);
  CHECK(on.read(on.a) == Graphs::all(11));
  on.destroy(graph);
}

TEST_CASE("Nodes of a later version of the boundary are longer") {
  const Graphs on;
  struct Later {
    anyplace_graph_node node;
    std::uint64_t more;
  };
  Nodes nodes;
  nodes.set(on.a, 1, 4, Graphs::count);
  nodes.set(on.a, 2, 4, Graphs::count, {0});
  const Later later[] = {{nodes[0], 77}, {nodes[1], 77}};
  anyplace_graph_desc desc = nodes.desc();
  desc.nodes = &later[0].node;
  desc.node_stride = sizeof(Later);
  anyplace_graph graph = 0;
  Plugin::check(on.plugin->graph_create(on.self(), 0, &desc, &graph));
  on.launch(graph);
  CHECK(on.read(on.a) == Graphs::all(2));
  on.destroy(graph);
}

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

TEST_CASE("Nothing is left of graphs that were made and updated and launched") {
  const Double driver;
  {
    const Graphs on;
    Nodes nodes;
    nodes.set(on.a, 1, 4, Graphs::count);
    const anyplace_graph graph = on.make(nodes);
    on.launch(graph);
    on.synchronize();
    Plugin::check(on.update(graph, nodes));
    on.launch(graph);
    on.synchronize();
    CHECK(driver.live("graph") == 0);
    CHECK(driver.live("executable graph") == 1);
    on.destroy(graph);
    CHECK(driver.live("executable graph") == 0);
  }
  INFO(driver.live_text());
  CHECK(driver.live() == 0);
}

TEST_CASE("Without " LIBRARY "'s graphs the devices have none") {
  CHECK(has(outcome_with({}), "graphs"));
  const auto [name, value] = without_graphs;
  const std::string outcome = outcome_with({{name, value}});
  CHECK_THAT(outcome, Catch::StartsWith("ok"));
  CHECK_FALSE(has(outcome, "graphs"));
}

}  // namespace graph_test
