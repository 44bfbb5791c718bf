// SPDX-License-Identifier: Apache-2.0
//
// Nodes of graphs: what is done in pieces, host functions, events, and what is refused.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <numeric>
#include <thread>

#include "graphs.h"

namespace test_graph_node_cases {

using namespace cpu_sim_test;

namespace {

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

anyplace_status create(Plugin& plugin, const GraphNodes& nodes, std::string* text = nullptr) {
  return status_of([&] { Graph graph(plugin, nodes); }, text);
}

}  // namespace

// What is as short as the conformance suite's is done in one piece, this in many.
TEST_CASE("Given long copies and fills in a graph, Then each is whole") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  constexpr std::uint64_t bytes = 3 << 20;
  Stream stream(plugin);
  std::vector<unsigned char> from(bytes), to(bytes), lines(bytes);
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
  std::vector<std::uint32_t> words(bytes / 4 + 1);
  const std::uint64_t here = plugin.allocate(bytes), there = plugin.allocate(bytes, 1);
  GraphNodes nodes;
  nodes.copy(pointer(here), from.data(), bytes, {});
  nodes.copy_peer(1, there, 0, here, bytes, {0});
  nodes.copy(to.data(), pointer(there), bytes, {1});
  // Every second half of 100 bytes.
  nodes.copy_2d(lines.data(), 100, from.data() + 50, 100, 50, bytes / 100, {});
  nodes.fill(words.data(), 0x1234567, 4, bytes / 4, {});
  Graph graph(plugin, nodes);
  graph.launch(stream);
  CHECK(stream.synchronize());
  CHECK(to == from);
  std::size_t wrong = 0;
  for (std::size_t at = 0; at < bytes / 100 * 100; ++at) wrong += lines[at] != (at % 100 < 50 ? from[at + 50] : 0);
  CHECK(wrong == 0);
  CHECK(std::count(words.begin(), words.end(), 0x1234567u) == static_cast<std::ptrdiff_t>(bytes / 4));
  CHECK(words.back() == 0);
  plugin.free(here);
  plugin.free(there, 1);
}

TEST_CASE(
    "Given a host function that blocks in one branch, Then it takes no worker: the other branch and others go on") {
  Plugin plugin(Environment{{"WORKERS", "1"}});
  Stream stream(plugin), other(plugin);
  Flag entered, leave, branch_ran;
  std::atomic<bool> joined{false};
  Kernel branch(plugin, [&] { branch_ran.set(); });
  Kernel last(plugin, [&] { joined = true; });
  GraphNodes nodes;
  nodes.host(
      [&] {
        entered.set();
        leave.wait();
      },
      {});
  nodes.kernel(branch, {});
  nodes.kernel(last, {0, 1});
  Graph graph(plugin, nodes);
  graph.launch(stream);
  entered.wait();
  branch_ran.wait();
  for (int i = 0; i < 50; ++i) {
    other.run([] {});
    CHECK(other.synchronize());
  }
  CHECK_FALSE(stream.done());
  CHECK_FALSE(joined);
  leave.set();
  CHECK(stream.synchronize());
  CHECK(joined);
}

TEST_CASE("Given a graph with timed events around a node, Then their times are those of the most recent launch") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream stream(plugin);
  Event start(plugin, ANYPLACE_EVENT_TIMING), end(plugin, ANYPLACE_EVENT_TIMING);
  Kernel kernel(plugin, [] {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
    while (std::chrono::steady_clock::now() < until) {
    }
  });
  GraphNodes nodes;
  nodes.record(start, {});
  nodes.kernel(kernel, {0});
  nodes.record(end, {1});
  Graph graph(plugin, nodes);
  std::uint64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    graph.launch(stream);
    CHECK(stream.synchronize());
    double elapsed = 0;
    check(plugin->event_elapsed(plugin.self(), start.handle, end.handle, &elapsed));
    CHECK(elapsed >= 0.2);
    std::uint64_t stamp = 0;
    check(plugin->event_timestamp(plugin.self(), start.handle, &stamp));
    CHECK(stamp > last);
    last = stamp;
  }
}

// A chain alone is run in another way, which the conformance suite sees.
TEST_CASE("Given a graph of branches that waits for an event, Then it is for the most recent record at the launch") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream stream(plugin), other(plugin, Stream::on(1));
  Event event(plugin, 0, 1);
  std::atomic<int> before{0}, after{0};
  Kernel early(plugin, [&] { ++before; });
  Kernel late(plugin, [&] { ++after; });
  GraphNodes nodes;
  nodes.kernel(early, {});
  nodes.wait(event, {0});
  nodes.kernel(late, {1});
  nodes.kernel(early, {0}, {2, 1, 1});
  Graph graph(plugin, nodes);
  for (int i = 1; i < 20; ++i) {
    Gate gate(plugin, 1), later(plugin, 1);
    other.wait(gate);
    other.record(event);
    graph.launch(stream);
    other.wait(later);
    other.record(event);  // of no concern to the launch
    while (before != 3 * i) std::this_thread::yield();
    CHECK(after == i - 1);
    CHECK_FALSE(stream.done());
    gate.open();
    CHECK(stream.synchronize());
    CHECK(after == i);
    later.open();
    CHECK(other.synchronize());
  }
}

TEST_CASE("Given a graph that waits for what it records itself, Then it is for the launch before") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream stream(plugin);
  Event event(plugin);
  std::atomic<int> ran{0};
  Kernel kernel(plugin, [&] { ++ran; });
  GraphNodes nodes;
  nodes.wait(event, {});
  nodes.kernel(kernel, {0});
  nodes.record(event, {1});
  Graph graph(plugin, nodes);
  for (int i = 1; i <= 50; ++i) graph.launch(stream);
  CHECK(stream.synchronize());
  CHECK(ran == 50);
  CHECK(event.done());
}

TEST_CASE("Given nodes that can't be launched, Then making or updating the graph is refused with what is wrong") {
  Plugin plugin;
  std::string text;
  std::atomic<int> ran{0};
  Kernel kernel(plugin, [&] { ++ran; });
  std::uint32_t word = 0;
  const auto refused = [&](const char* part, auto&& add) {
    GraphNodes nodes;
    nodes.kernel(kernel, {});
    add(nodes);
    CHECK(create(plugin, nodes, &text) == ANYPLACE_STATUS_INVALID_ARGUMENT);
    CHECK(text.find(part) != std::string::npos);
  };
  refused("grid[1] is 70000", [&](GraphNodes& nodes) { nodes.kernel(kernel, {0}, {1, 70000, 1}); });
  refused("shared_bytes", [&](GraphNodes& nodes) { nodes.kernel(kernel, {0}, {}, {}, std::uint64_t{1} << 30); });
  refused("argument 0 has no value", [&](GraphNodes& nodes) {
    nodes.kernel(kernel, {0}, {}, {anyplace_argument{ANYPLACE_ARGUMENT_VALUE, 4, nullptr}});
  });
  const std::uint64_t there = plugin.allocate(4096, 1);
  refused("which device 0 has no access to",
          [&](GraphNodes& nodes) { nodes.kernel(kernel, {0}, {}, {argument_of(there, ANYPLACE_ARGUMENT_ADDRESS)}); });
  plugin.free(there, 1);
  refused("not aligned", [&](GraphNodes& nodes) { nodes.fill(reinterpret_cast<char*>(&word) + 1, 1, 4, 1, {0}); });
  refused("1, 2 or 4 bytes wide", [&](GraphNodes& nodes) { nodes.fill(&word, 1, 3, 1, {0}); });
  refused("pitches", [&](GraphNodes& nodes) { nodes.copy_2d(&word, 1, &word, 4, 4, 2, {0}); });
  refused("comes after node 1", [&](GraphNodes& nodes) { nodes.empty({1}); });
  GraphNodes none;
  CHECK(create(plugin, none, &text) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  GraphNodes of_the_core;
  of_the_core.of_kind(ANYPLACE_GRAPH_NODE_CHILD_GRAPH, {});
  CHECK(create(plugin, of_the_core, &text) == ANYPLACE_STATUS_UNSUPPORTED);
  GraphNodes peer;
  peer.copy_peer(7, 0, 0, 0, 8, {});
  CHECK(create(plugin, peer, &text) == ANYPLACE_STATUS_NO_SUCH_DEVICE);

  GraphNodes good, bad;
  good.kernel(kernel, {});
  bad.kernel(kernel, {}, {0, 1, 1});
  Graph graph(plugin, good);
  CHECK(status_of([&] { graph.update(bad); }) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  Stream elsewhere(plugin, Stream::on(1));
  CHECK(status_of([&] { graph.launch(elsewhere); }) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  Stream stream(plugin);
  graph.launch(stream);  // as it was
  CHECK(stream.synchronize());
  CHECK(ran == 1);
}

}  // namespace test_graph_node_cases
