// SPDX-License-Identifier: Apache-2.0
//
// What each kind of a graph's nodes does, what is refused, and faults.
#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
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

TEST_CASE("Given the properties, Then the devices have graphs") {
  Plugin plugin;
  CHECK((plugin.properties(0).capabilities & (std::uint64_t{1} << ANYPLACE_CAPABILITY_BIT_GRAPHS)) != 0);
}

TEST_CASE("Given a graph made of arrays that are gone, Then its kernels have the arguments they were made with") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream stream(plugin);
  std::atomic<int> right{0}, blocks{0};
  Kernel kernel(plugin,
                [&](const anyplace_block& block, void* const* arguments, const std::uint32_t* sizes,
                    std::uint32_t count) -> anyplace_status {
                  struct Large {
                    char text[100];
                  };
                  const bool ok = count == 3 && sizes[0] == 4 && sizes[1] == 100 && sizes[2] == 8 &&
                                  *static_cast<const std::uint32_t*>(arguments[0]) == 7 &&
                                  static_cast<const Large*>(arguments[1])->text[99] == 'x' &&
                                  *static_cast<const double*>(arguments[2]) == 0.5;
                  const bool shared = block.shared_bytes == (block.grid[0] == 1 ? 0 : 1000);
                  right += ok && shared;
                  ++blocks;
                  return ANYPLACE_STATUS_OK;
                });
  std::unique_ptr<Graph> graph;
  {
    auto number = std::make_unique<std::uint32_t>(7);
    auto large = std::make_unique<std::array<char, 100>>();
    large->fill('x');
    auto half = std::make_unique<double>(0.5);
    const std::vector<anyplace_argument> arguments{argument_of(*number), argument_of(*large), argument_of(*half)};
    auto nodes = std::make_unique<GraphNodes>();
    nodes->kernel(kernel, {}, {}, arguments);
    nodes->kernel(kernel, {0}, {6, 1, 1}, arguments, 1000);
    graph = std::make_unique<Graph>(plugin, *nodes);
    *number = 8;
    large->fill('y');
    *half = 0;
  }
  for (int i = 1; i <= 3; ++i) {
    graph->launch(stream);
    CHECK(stream.synchronize());
    CHECK(right == 7 * i);
    CHECK(blocks == 7 * i);
  }
}

TEST_CASE("Given copies of every kind in a graph, Then each moves what it should, short or long") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  const std::uint64_t bytes = GENERATE(std::uint64_t{100}, std::uint64_t{3} << 20);
  Stream stream(plugin);
  std::vector<unsigned char> from(bytes), to(bytes), lines(bytes);
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
  const std::uint64_t here = plugin.allocate(bytes), there = plugin.allocate(bytes, 1);
  GraphNodes nodes;
  nodes.copy(pointer(here), from.data(), bytes, {});
  nodes.copy_peer(1, there, 0, here, bytes, {0});
  nodes.copy(to.data(), pointer(there), bytes, {1});
  // Every second half of 100 bytes.
  nodes.copy_2d(lines.data(), 100, from.data() + 50, 100, 50, bytes / 100, {});
  Graph graph(plugin, nodes);
  for (int i = 0; i < 3; ++i) {
    from[static_cast<std::size_t>(i)] = 99;
    graph.launch(stream);
    CHECK(stream.synchronize());
    CHECK(to == from);
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < bytes / 100 * 100; ++at) wrong += lines[at] != (at % 100 < 50 ? from[at + 50] : 0);
    CHECK(wrong == 0);
  }
  plugin.free(here);
  plugin.free(there, 1);
}

TEST_CASE("Given fills of each width in a graph, Then each sets its elements, few or many") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  const std::uint64_t count = GENERATE(std::uint64_t{10}, std::uint64_t{1} << 20);
  Stream stream(plugin);
  std::vector<std::uint8_t> bytes(count + 1);
  std::vector<std::uint16_t> halves(count + 1);
  std::vector<std::uint32_t> words(count + 1);
  GraphNodes nodes;
  nodes.fill(bytes.data(), 0x1234567, 1, count, {});
  nodes.fill(halves.data(), 0x1234567, 2, count, {});
  nodes.fill(words.data(), 0x1234567, 4, count, {});
  Graph graph(plugin, nodes);
  graph.launch(stream);
  CHECK(stream.synchronize());
  CHECK(std::count(bytes.begin(), bytes.end(), 0x67) == static_cast<std::ptrdiff_t>(count));
  CHECK(std::count(halves.begin(), halves.end(), 0x4567) == static_cast<std::ptrdiff_t>(count));
  CHECK(std::count(words.begin(), words.end(), 0x1234567u) == static_cast<std::ptrdiff_t>(count));
  CHECK(bytes.back() + halves.back() + words.back() == 0);
}

TEST_CASE("Given host functions in a chain, Then they run in their place, on the device's own thread") {
  for (const char* workers : {"1", "2"}) {
    Plugin plugin(Environment{{"WORKERS", workers}});
    Stream stream(plugin);
    Log<int> log;
    Log<std::thread::id> threads;
    Kernel kernel(plugin, [&] { log.add(0); });
    GraphNodes nodes;
    for (std::uint32_t i = 0; i < 30; ++i) {
      const After after = i == 0 ? After{} : After{i - 1};
      // Single ones and several in a row, also at the beginning and the end.
      if (i % 7 < 3) {
        nodes.kernel(kernel, after);
      } else {
        nodes.host(
            [&, i] {
              log.add(static_cast<int>(i));
              threads.add(std::this_thread::get_id());
            },
            after);
      }
    }
    Graph graph(plugin, nodes);
    std::vector<int> expected;
    for (int launch = 0; launch < 20; ++launch) {
      graph.launch(stream);
      CHECK(stream.synchronize());
      for (int i = 0; i < 30; ++i) expected.push_back(i % 7 < 3 ? 0 : i);
    }
    CHECK(log.entries() == expected);
    Flag own;
    std::thread::id host_thread;
    stream.host([&] {
      host_thread = std::this_thread::get_id();
      own.set();
    });
    own.wait();
    const std::vector<std::thread::id> ran = threads.entries();
    CHECK(std::count(ran.begin(), ran.end(), host_thread) == static_cast<std::ptrdiff_t>(ran.size()));
    CHECK(stream.synchronize());
  }
}

TEST_CASE("Given a host function that blocks in one branch, Then the other branch and other streams go on") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
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

TEST_CASE("Given a graph that records an event, Then the record is of its place in each launch") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream stream(plugin), other(plugin);
  Event event(plugin);
  std::atomic<int> before{0}, after{0};
  auto leave = std::make_unique<Flag>();
  Kernel early(plugin, [&] { ++before; });
  GraphNodes nodes;
  nodes.kernel(early, {});
  nodes.record(event, {0});
  nodes.host([&] { leave->wait(); }, {1});
  nodes.host([&] { ++after; }, {2});
  Graph graph(plugin, nodes);
  CHECK(event.done());
  for (int i = 1; i <= 20; ++i) {
    graph.launch(stream);
    // A stream that waits for the record doesn't wait for what comes after it, and lets it go on.
    other.wait(event);
    other.run([&] { leave->set(); });
    CHECK(event.synchronize(i % 2 == 0 ? forever : 60'000 * millisecond));
    CHECK(before == i);
    CHECK(event.done());
    CHECK(stream.synchronize());
    CHECK(other.synchronize());
    CHECK(after == i);
    leave = std::make_unique<Flag>();
  }
  Gate gate(plugin);
  leave->set();
  stream.wait(gate);
  graph.launch(stream);
  CHECK_FALSE(event.done());
  gate.open();
  CHECK(stream.synchronize());
  graph.destroy();
  CHECK(event.done());
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

TEST_CASE("Given a graph that waits for an event, Then it is for the most recent record at the launch") {
  for (const bool in_a_chain : {true, false}) {
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
    if (!in_a_chain) nodes.kernel(early, {0}, {2, 1, 1});
    Graph graph(plugin, nodes);
    const int each = in_a_chain ? 1 : 3;
    graph.launch(stream);  // never recorded: nothing to wait for
    CHECK(stream.synchronize());
    CHECK(after == 1);
    for (int i = 2; i < 20; ++i) {
      Gate gate(plugin, 1), later(plugin, 1);
      other.wait(gate);
      other.record(event);
      graph.launch(stream);
      other.wait(later);
      other.record(event);  // of no concern to the launch
      while (before != each * i) std::this_thread::yield();
      CHECK(after == i - 1);
      CHECK_FALSE(stream.done());
      gate.open();
      CHECK(stream.synchronize());
      CHECK(after == i);
      later.open();
      CHECK(other.synchronize());
    }
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

TEST_CASE("Given a kernel that fails in a graph, Then it is its stream's fault, once for each launch, and others run") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream first(plugin), second(plugin);
  std::atomic<int> ran{0};
  Kernel fails(plugin, [] { throw std::runtime_error("no luck"); });
  Kernel runs(plugin, [&] { ++ran; });
  GraphNodes nodes;
  nodes.kernel(fails, {});
  nodes.kernel(runs, {0});
  nodes.kernel(fails, {0}, {50, 1, 1});
  nodes.kernel(runs, {2});
  nodes.host([&] { ++ran; }, {1, 3});
  nodes.host([] { throw std::runtime_error("nor here"); }, {4});
  Graph graph(plugin, nodes);
  graph.launch(first);
  CHECK(first.synchronize());
  graph.launch(second);
  CHECK(second.synchronize());
  CHECK(ran == 6);
  const std::vector<Fault> faults = plugin.host().faults();
  CHECK(faults.size() == 6);
  for (std::size_t i = 0; i < faults.size(); ++i) {
    CHECK(faults[i].cookie == (i < 3 ? first.cookie : second.cookie));
    const bool by_host = i % 3 == 2;
    CHECK(faults[i].status == (by_host ? ANYPLACE_STATUS_HOST_FUNCTION_FAILED : ANYPLACE_STATUS_KERNEL_FAILED));
    CHECK(faults[i].text.find(by_host ? "nor here" : "no luck") != std::string::npos);
  }
}

TEST_CASE("Given the null stream and a blocking one, Then launches keep the null stream's rule") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream null(plugin, Stream::null()), blocking(plugin, Stream::blocking());
  int value = 0;
  Kernel up(plugin, [&] { ++value; });
  Kernel doubled(plugin, [&] { value *= 2; });
  GraphNodes ups, doubles;
  ups.kernel(up, {});
  doubles.kernel(doubled, {});
  Graph first(plugin, ups), second(plugin, doubles);
  for (int i = 0; i < 10; ++i) {
    first.launch(null);
    second.launch(blocking);
  }
  CHECK(plugin.synchronize(0));
  CHECK(value == 2046);
}

TEST_CASE("Given nodes that can't be launched, Then making the graph is refused with what is wrong") {
  Plugin plugin;
  std::string text;
  Kernel kernel(plugin, [] {});
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
}

TEST_CASE("Given a graph and a stream of another device, Then the launch is refused") {
  Plugin plugin;
  Stream stream(plugin, Stream::on(1));
  Kernel kernel(plugin, [] {});
  GraphNodes nodes;
  nodes.kernel(kernel, {});
  Graph graph(plugin, nodes);
  CHECK(status_of([&] { graph.launch(stream); }) == ANYPLACE_STATUS_INVALID_ARGUMENT);
}

}  // namespace test_graph_node_cases
