// SPDX-License-Identifier: Apache-2.0
//
// Who gets a worker when there are too few: priorities, fairness, and that waiting takes none.
#include <catch2/catch.hpp>
#include <memory>

#include "plugin.h"

namespace test_scheduling_cases {

using namespace cpu_sim_test;

namespace {

/// Occupies the one worker until it is let go, so that what is submitted meanwhile is chosen from all at once.
class BusyWorker {
 public:
  explicit BusyWorker(Plugin& plugin) : stream_(plugin, Stream::priority(-2)) {
    stream_.run([this] {
      entered_.set();
      leave_.wait();
    });
    entered_.wait();
  }
  void let_go() { leave_.set(); }

 private:
  Flag entered_, leave_;
  Stream stream_;
};

}  // namespace

TEST_CASE("Given one worker and streams of all priorities, Then the lower number runs first") {
  Plugin plugin(Environment{{"WORKERS", "1"}});
  Log<int> log;
  std::vector<std::unique_ptr<Stream>> streams;
  BusyWorker busy(plugin);
  for (std::int32_t priority : {1, 0, -1, -2, 1, 0, -1, -2}) {
    streams.push_back(std::make_unique<Stream>(plugin, Stream::priority(priority)));
    streams.back()->run([&log, priority] { log.add(priority); });
  }
  busy.let_go();
  CHECK(plugin.synchronize(0));
  CHECK(log.entries() == std::vector<int>{-2, -2, -1, -1, 0, 0, 1, 1});
}

TEST_CASE("Given one worker and streams of one priority, Then the first to be ready is the first to run") {
  Plugin plugin(Environment{{"WORKERS", "1"}});
  Log<int> log;
  std::vector<std::unique_ptr<Stream>> streams;
  BusyWorker busy(plugin);
  std::vector<int> expected;
  for (int i = 0; i < 100; ++i) {
    streams.push_back(std::make_unique<Stream>(plugin));
    streams.back()->run([&log, i] { log.add(i); });
    expected.push_back(i);
  }
  busy.let_go();
  CHECK(plugin.synchronize(0, 60'000 * millisecond));  // with a limit, so that this host runs none of them
  CHECK(log.entries() == expected);
}

TEST_CASE("Given a long queue on one stream and one worker, Then another as urgent is not kept waiting for all of it") {
  Plugin plugin(Environment{{"WORKERS", "1"}});
  Log<char> log;
  Stream long_one(plugin), short_one(plugin);
  BusyWorker busy(plugin);
  for (int i = 0; i < 1000; ++i) long_one.run([&] { log.add('l'); });
  short_one.run([&] { log.add('s'); });
  busy.let_go();
  CHECK(plugin.synchronize(0));
  const std::vector<char> entries = log.entries();
  CHECK(std::find(entries.begin(), entries.end(), 's') - entries.begin() <= 16);
}

TEST_CASE("Given a long queue on one worker, When something more urgent becomes ready, Then it is next") {
  Plugin plugin(Environment{{"WORKERS", "1"}});
  Log<char> log;
  Stream slow(plugin, Stream::priority(1)), urgent(plugin, Stream::priority(-1));
  BusyWorker busy(plugin);
  for (int i = 0; i < 10; ++i) {
    slow.run([&, i] {
      log.add('s');
      if (i == 2) urgent.run([&] { log.add('u'); });
    });
  }
  busy.let_go();
  CHECK(plugin.synchronize(0));
  const std::vector<char> entries = log.entries();
  CHECK(std::string(entries.begin(), entries.end()) == "sssusssssss");
}

TEST_CASE(
    "Given a kernel of many blocks on one worker, When something more urgent becomes ready, Then it gets between") {
  Plugin plugin(Environment{{"WORKERS", "1"}});
  Stream wide(plugin), urgent(plugin, Stream::priority(-1));
  std::atomic<int> blocks{0}, before_urgent{-1};
  Flag ran_urgent;
  Kernel kernel(plugin, [&] {
    // The first block, a piece of its own, readies the urgent work.
    if (++blocks == 1) urgent.run([&] { before_urgent = blocks.load(); });
  });
  wide.launch(kernel, {1000, 1, 1});
  CHECK(wide.synchronize());
  CHECK(urgent.synchronize());
  CHECK(blocks == 1000);
  CHECK(before_urgent == 1);
}

TEST_CASE(
    "Given a kernel of many blocks on one worker, When something as urgent becomes ready, Then it waits for a few") {
  Plugin plugin(Environment{{"WORKERS", "1"}});
  Stream wide(plugin), other(plugin);
  std::atomic<int> blocks{0}, before_other{-1};
  Kernel kernel(plugin, [&] {
    if (++blocks == 1) other.run([&] { before_other = blocks.load(); });
    // At least so long, so that a thread's time is over after five blocks, whatever the machine does.
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
    while (std::chrono::steady_clock::now() < end) {
    }
  });
  wide.launch(kernel, {200, 1, 1});
  CHECK(wide.synchronize());
  CHECK(other.synchronize());
  CHECK(blocks == 200);
  CHECK(before_other <= 20);
}

TEST_CASE(
    "Given a kernel of many blocks on all workers, When something more urgent becomes ready, Then one gives way") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream wide(plugin), urgent(plugin, Stream::priority(-1));
  std::atomic<int> blocks{0};
  Flag ran_urgent;
  Kernel kernel(plugin, [&] {
    if (++blocks == 1) {
      urgent.run([&] { ran_urgent.set(); });
    } else {
      ran_urgent.wait();
    }
  });
  wide.launch(kernel, {1000, 1, 1});
  CHECK(wide.synchronize());
  CHECK(urgent.synchronize());
  CHECK(blocks == 1000);
}

TEST_CASE("Given one worker and a thousand streams that wait, Then others run: waiting takes no worker") {
  Plugin plugin(Environment{{"WORKERS", "1"}});
  Gate gate(plugin);
  Event event(plugin);
  Stream producer(plugin);
  producer.wait(gate);
  producer.record(event);
  std::vector<std::unique_ptr<Stream>> waiting;
  std::atomic<int> ran{0};
  for (int i = 0; i < 1000; ++i) {
    waiting.push_back(std::make_unique<Stream>(plugin, Stream::priority(-2)));
    if (i % 2 == 0) {
      waiting.back()->wait(gate);
    } else {
      waiting.back()->wait(event);
    }
    waiting.back()->run([&] { ++ran; });
  }
  Stream free_stream(plugin, Stream::priority(1));
  std::atomic<bool> free_ran{false};
  free_stream.run([&] { free_ran = true; });
  CHECK(free_stream.synchronize());
  CHECK(free_ran);
  CHECK(ran == 0);
  gate.open();
  CHECK(plugin.synchronize(0));
  CHECK(ran == 1000);
}

TEST_CASE("Given as many blocked kernels as workers but one, Then the last worker serves all other streams") {
  Plugin plugin(Environment{{"WORKERS", "4"}});
  Flag leave;
  std::vector<std::unique_ptr<Stream>> blocked;
  for (int i = 0; i < 3; ++i) {
    blocked.push_back(std::make_unique<Stream>(plugin, Stream::on(i % 2)));
    blocked.back()->run([&] { leave.wait(); });
  }
  std::atomic<int> ran{0};
  for (int i = 0; i < 50; ++i) {
    Stream stream(plugin);
    stream.run([&] { ++ran; });
    CHECK(stream.synchronize());
  }
  CHECK(ran == 50);
  leave.set();
  CHECK(plugin.synchronize(0));
  CHECK(plugin.synchronize(1));
}

}  // namespace test_scheduling_cases
