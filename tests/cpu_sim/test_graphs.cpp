// SPDX-License-Identifier: Apache-2.0
//
// How a graph's launch runs: what may overlap, who gives way to whom, and its end.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <thread>

#include "graphs.h"
#include "support/threads.h"

namespace test_graph_cases {

using namespace cpu_sim_test;

namespace {

/// Waits for the other side, for a minute at most.
bool meet(std::atomic<int>& arrived, int parties) {
  ++arrived;
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (arrived < parties) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

void take_microseconds(int count) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(count);
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace

TEST_CASE("Given branches that wait for each other, Then a worker that is free takes each") {
  for (const char* idle_backoff : {"0", "25"}) {
    Plugin plugin(Environment{{"WORKERS", "3"}, {"IDLE_BACKOFF", idle_backoff}});
    for (int round = 0; round < 20; ++round) {
      Stream stream(plugin);
      std::atomic<int> arrived{0}, met{0};
      Kernel kernel(plugin, [&] { met += meet(arrived, 3); });
      Kernel before(plugin, [] {});
      GraphNodes nodes;
      const std::uint32_t first = nodes.kernel(before, {});
      for (int branch = 0; branch < 3; ++branch) {
        // Some come late in a branch of their own.
        std::uint32_t last = first;
        for (int i = 0; i < branch * round; ++i) last = nodes.kernel(before, {last});
        nodes.kernel(kernel, {last});
      }
      Graph graph(plugin, nodes);
      graph.launch(stream);
      CHECK(stream.synchronize(round % 2 == 0 ? 120'000 * millisecond : forever));
      CHECK(met == 3);
    }
  }
}

TEST_CASE("Given a kernel of many blocks in a graph, Then its blocks are spread over the workers") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream stream(plugin);
  std::atomic<int> arrived{0}, met{0}, blocks{0};
  Kernel wide(plugin, [&] { met += meet(arrived, 2); });
  Kernel counted(plugin, [&] { ++blocks; });
  for (const bool in_a_chain : {true, false}) {
    arrived = met = blocks = 0;
    GraphNodes nodes;
    const std::uint32_t first = nodes.kernel(counted, {}, {100, 1, 1});
    const std::uint32_t second = nodes.kernel(wide, {first}, {2, 1, 1});
    nodes.kernel(counted, {second}, {1000, 1, 1});
    if (!in_a_chain) nodes.kernel(counted, {}, {5000, 1, 1});
    Graph graph(plugin, nodes);
    graph.launch(stream);
    CHECK(stream.synchronize());
    CHECK(met == 2);
    CHECK(blocks == (in_a_chain ? 1100 : 6100));
  }
}

TEST_CASE("Given many wide kernels side by side, Then each block of each runs once") {
  for (const char* workers : {"1", "2", "4"}) {
    Plugin plugin(Environment{{"WORKERS", workers}});
    Stream stream(plugin);
    std::vector<std::unique_ptr<Kernel>> kernels;
    std::vector<std::atomic<int>> blocks(30);
    std::atomic<int> early{0};
    GraphNodes nodes;
    for (std::uint32_t i = 0; i < 30; ++i) {
      kernels.push_back(std::make_unique<Kernel>(plugin, [&, i] {
        if (i >= 6) early += blocks[i - 6] % (50 + 10 * static_cast<int>(i - 6)) != 0;
        if (i % 5 == 0) take_microseconds(3);
        ++blocks[i];
      }));
      nodes.kernel(*kernels.back(), i < 6 ? After{} : After{i - 6}, {50 + 10 * i, 1, 1});
    }
    Graph graph(plugin, nodes);
    for (int launch = 1; launch <= 5; ++launch) {
      graph.launch(stream);
      CHECK(stream.synchronize());
      for (int i = 0; i < 30; ++i) CHECK(blocks[static_cast<std::size_t>(i)] == launch * (50 + 10 * i));
    }
    CHECK(early == 0);
  }
}

TEST_CASE("Given one worker and a long graph, When something more urgent becomes ready, Then it is next") {
  Plugin plugin(Environment{{"WORKERS", "1"}});
  for (const bool in_a_chain : {true, false}) {
    Stream slow(plugin, Stream::priority(1)), urgent(plugin, Stream::priority(-1));
    Log<char> log;
    int ran = 0;
    Kernel kernel(plugin, [&] {
      log.add('s');
      if (++ran == 3) urgent.run([&] { log.add('u'); });
    });
    GraphNodes nodes;
    for (std::uint32_t i = 0; i < 10; ++i) nodes.kernel(kernel, i == 0 || !in_a_chain ? After{} : After{i - 1});
    Graph graph(plugin, nodes);
    graph.launch(slow);
    CHECK(plugin.synchronize(0));
    const std::vector<char> entries = log.entries();
    CHECK(std::string(entries.begin(), entries.end()) == "sssusssssss");
  }
}

TEST_CASE("Given one worker and a long graph, When something as urgent becomes ready, Then it waits for a part of it") {
  Plugin plugin(Environment{{"WORKERS", "1"}});
  for (const bool in_a_chain : {true, false}) {
    Stream stream(plugin), other(plugin);
    std::atomic<int> ran{0}, before_other{-1};
    Kernel kernel(plugin, [&] {
      if (++ran == 1) other.run([&] { before_other = ran.load(); });
      take_microseconds(20);
    });
    GraphNodes nodes;
    for (std::uint32_t i = 0; i < 500; ++i) nodes.kernel(kernel, i == 0 || !in_a_chain ? After{} : After{i - 1});
    Graph graph(plugin, nodes);
    graph.launch(stream);
    CHECK(plugin.synchronize(0));
    CHECK(ran == 500);
    CHECK(before_other <= 40);
  }
}

TEST_CASE("Given a wide graph that is launched again and again, Then what is less urgent runs on the other worker") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream urgent(plugin, Stream::priority(-2)), other(plugin), least(plugin, Stream::priority(1));
  Kernel nothing(plugin, [] {});
  GraphNodes nodes;
  for (int i = 0; i < 2000; ++i) nodes.kernel(nothing, {});
  Graph graph(plugin, nodes);
  std::atomic<int> ran{0};
  other.run([&] { ++ran; });
  least.run([&] { ++ran; });
  while (ran != 2) {
    graph.launch(urgent);
    CHECK(urgent.synchronize());
  }
  CHECK(plugin.synchronize(0));
}

TEST_CASE("Given a host with a limit of time, Then it runs no node") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream stream(plugin);
  Log<std::thread::id> log;
  Kernel kernel(plugin, [&] { log.add(std::this_thread::get_id()); });
  GraphNodes nodes;
  for (int i = 0; i < 20; ++i) nodes.kernel(kernel, {});
  Graph graph(plugin, nodes);
  for (int i = 0; i < 50; ++i) {
    graph.launch(stream);
    CHECK(stream.synchronize(60'000 * millisecond));
  }
  const std::vector<std::thread::id> ran = log.entries();
  CHECK(ran.size() == 1000);
  CHECK(std::count(ran.begin(), ran.end(), std::this_thread::get_id()) == 0);
}

TEST_CASE("Given a stream whose handle is gone, Then a launch on it completes, and its memory serves others") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  std::atomic<int> ran{0};
  Kernel kernel(plugin, [&] { ++ran; });
  GraphNodes nodes;
  for (std::uint32_t i = 0; i < 40; ++i) nodes.kernel(kernel, i < 4 ? After{} : After{i - 4}, {1 + i % 2, 1, 1});
  Graph graph(plugin, nodes);
  for (int i = 0; i < 200; ++i) {
    auto stream = std::make_unique<Stream>(plugin, i % 3 == 0 ? Stream::blocking() : Stream::on(0));
    graph.launch(*stream);
    stream.reset();
    CHECK(plugin.synchronize(0));
  }
  CHECK(ran == 200 * 60);
}

TEST_CASE("Given graphs on many streams at once from many threads, Then all nodes of all launches run") {
  Plugin plugin(Environment{{"WORKERS", "3"}});
  std::atomic<int> ran{0}, unfinished{0};
  constexpr int threads = 6, launches = 60;
  test::on_threads(threads, [&](int t) {
    Stream stream(plugin, {t % 2, t % 4 - 2, 0});
    Kernel short_one(
        plugin, [&] { ++ran; }, t % 2);
    Kernel long_one(
        plugin,
        [&] {
          take_microseconds(10);
          ++ran;
        },
        t % 2);
    GraphNodes nodes;
    for (std::uint32_t i = 0; i < 64; ++i)
      nodes.kernel(i % 7 == 0 ? long_one : short_one, i < 4 ? After{} : After{i - 4, i - 3}, {1 + i % 4, 1, 1});
    nodes.host([&] { ++ran; }, {10, 20});
    Graph graph(plugin, nodes, t % 2);
    for (int i = 0; i < launches; ++i) {
      graph.launch(stream);
      if (i % 8 == 0) stream.synchronize();
      if (i % 8 == 4) stream.synchronize(100'000);
    }
    unfinished += !stream.synchronize();
  });
  CHECK(unfinished == 0);
  CHECK(ran == threads * launches * (64 / 4 * 10 + 1));
}

}  // namespace test_graph_cases
