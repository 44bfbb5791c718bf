// SPDX-License-Identifier: Apache-2.0
//
// Hosts that run what they wait for, workers that look for work instead of being woken, and that neither keeps anything
// from running.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <thread>

#include "plugin.h"
#include "support/threads.h"

namespace test_helping_cases {

using namespace cpu_sim_test;

namespace {

using ThreadId = std::thread::id;

}  // namespace

TEST_CASE("Given a host that synchronises at once, Then it runs the kernel itself, if nobody has begun") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream stream(plugin);
  Log<ThreadId> log;
  Kernel kernel(plugin, [&] { log.add(std::this_thread::get_id()); });
  for (int i = 0; i < 1000; ++i) {
    stream.launch(kernel);
    CHECK(stream.synchronize());
  }
  const std::vector<ThreadId> ran = log.entries();
  CHECK(ran.size() == 1000);
  CHECK(std::count(ran.begin(), ran.end(), std::this_thread::get_id()) > 0);
}

TEST_CASE("Given a limit of time, Then the host runs nothing: it could not leave what takes longer") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream stream(plugin);
  Event event(plugin);
  Log<ThreadId> log;
  for (int i = 0; i < 100; ++i) {
    stream.run([&] { log.add(std::this_thread::get_id()); });
    stream.record(event);
    if (i % 3 == 0) CHECK(stream.synchronize(60'000 * millisecond));
    if (i % 3 == 1) CHECK(event.synchronize(60'000 * millisecond));
    if (i % 3 == 2) CHECK(plugin.synchronize(0, 60'000 * millisecond));
  }
  const std::vector<ThreadId> ran = log.entries();
  CHECK(std::count(ran.begin(), ran.end(), std::this_thread::get_id()) == 0);
}

TEST_CASE("Given a host that synchronises, Then host functions still run on a thread of the device's own") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream stream(plugin);
  Log<ThreadId> log;
  for (int i = 0; i < 100; ++i) {
    stream.run([] {});
    stream.host([&] { log.add(std::this_thread::get_id()); });
    stream.run([] {});
    CHECK(stream.synchronize());
  }
  const std::vector<ThreadId> ran = log.entries();
  CHECK(ran.size() == 100);
  CHECK(std::count(ran.begin(), ran.end(), ran.front()) == 100);
  CHECK(ran.front() != std::this_thread::get_id());
}

TEST_CASE("Given a host that waits for a part of a stream, Then it isn't caught in what comes after that") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  for (int i = 0; i < 200; ++i) {
    Stream mine(plugin), other(plugin);
    Event needed(plugin);
    Flag leave;
    std::atomic<int> ran{0};
    other.run([&] { ++ran; });
    other.record(needed);
    other.run([&] { leave.wait(); });  // until this host has come back
    mine.wait(needed);
    mine.run([&] { ++ran; });
    if (i % 2 == 0) {
      CHECK(mine.synchronize());
    } else {
      CHECK(needed.synchronize());
    }
    CHECK(ran >= 1);
    leave.set();
    CHECK(plugin.synchronize(0));
    CHECK(ran == 2);
  }
}

TEST_CASE("Given a chain of streams that wait for each other, When the last is synchronised, Then all of it has run") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  constexpr int stream_count = 40;  // more than a host follows
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < stream_count; ++i) streams.push_back(std::make_unique<Stream>(plugin));
  std::vector<std::unique_ptr<Event>> events;
  for (int i = 0; i < stream_count; ++i) events.push_back(std::make_unique<Event>(plugin));
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> ran{0}, wrong{0};
    for (int i = 0; i < stream_count; ++i) {
      if (i > 0) streams[i]->wait(*events[i - 1]);
      streams[i]->run([&, i] { wrong += ran++ != i; });
      streams[i]->record(*events[i]);
    }
    CHECK(streams.back()->synchronize());
    CHECK(ran == stream_count);
    CHECK(wrong == 0);
  }
}

TEST_CASE("Given work that nobody waits for, Then it runs, also after the workers have gone to sleep") {
  for (const char* idle_backoff : {"0", "50", "1000"}) {
    Plugin plugin(Environment{{"WORKERS", "2"}, {"IDLE_BACKOFF", idle_backoff}});
    Stream stream(plugin);
    for (int i = 0; i < 20; ++i) {
      Flag ran;
      stream.run([&] { ran.set(); });
      ran.wait();
      // As long as it takes them to fall asleep, at times.
      if (i % 5 == 0) stream.synchronize(millisecond);
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(i % 2 == 0 ? 0 : 3);
      while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
    }
  }
}

TEST_CASE("Given two kernels of which one waits for the other, Then both run, whatever hosts do meanwhile") {
  for (const char* idle_backoff : {"0", "50"}) {
    Plugin plugin(Environment{{"WORKERS", "2"}, {"IDLE_BACKOFF", idle_backoff}});
    for (int i = 0; i < 20; ++i) {
      Stream first(plugin), second(plugin), busy(plugin);
      std::atomic<bool> met{false};
      first.run([&] {
        while (!met) std::this_thread::yield();
      });
      second.run([&] { met = true; });
      // This host would take all the room there is, again and again.
      while (!met) {
        busy.run([] {});
        busy.synchronize();
      }
      CHECK(plugin.synchronize(0));
    }
  }
}

TEST_CASE("Given streams that go on waking each other, Then others as urgent run all the same") {
  Plugin plugin(Environment{{"WORKERS", "1"}});
  Stream ping(plugin), pong(plugin), third(plugin);
  Event from_ping(plugin), from_pong(plugin);
  std::atomic<bool> third_ran{false};
  std::thread submitter([&] {
    while (!third_ran) {
      ping.run([] {});
      ping.record(from_ping);
      pong.wait(from_ping);
      pong.run([] {});
      pong.record(from_pong);
      ping.wait(from_pong);
    }
  });
  third.run([&] { third_ran = true; });
  submitter.join();
  CHECK(plugin.synchronize(0));
}

TEST_CASE("Given a stream's record, When the stream is gone and its memory serves others, Then it is what it was") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Gate gate(plugin);
  Event done(plugin), pending(plugin);
  auto first = std::make_unique<Stream>(plugin);
  first->run([] {});
  first->record(done);
  CHECK(first->synchronize());
  auto second = std::make_unique<Stream>(plugin);
  second->wait(gate);
  second->run([] {});
  second->record(pending);
  first.reset();
  second.reset();
  std::vector<std::unique_ptr<Stream>> others;
  for (int i = 0; i < 100; ++i) {
    others.push_back(std::make_unique<Stream>(plugin));
    others.back()->wait(gate);
  }
  CHECK(done.done());
  CHECK(done.synchronize(0));
  CHECK_FALSE(pending.done());
  Stream waits(plugin);
  waits.wait(done);
  CHECK(waits.synchronize());
  waits.wait(pending);
  CHECK_FALSE(waits.done());
  gate.open();
  CHECK(waits.synchronize());
  CHECK(pending.done());
  CHECK(plugin.synchronize(0));
}

TEST_CASE(
    "Given kernels destroyed as soon as they are launched, When the stream is synchronised, Then all are released") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream stream(plugin), other(plugin);
  for (int i = 0; i < 500; ++i) {
    std::atomic<int> ran{0};
    auto held = std::make_shared<int>(0);
    const std::weak_ptr<int> watch = held;
    for (int k = 0; k < 3; ++k) {
      Kernel kernel(plugin, [&ran, held] { ++ran; });
      stream.launch(kernel);
      other.launch(kernel, {4, 1, 1});
    }
    held.reset();
    CHECK(stream.synchronize());
    CHECK(other.synchronize());
    CHECK(ran == 15);
    CHECK(watch.expired());
  }
}

TEST_CASE(
    "Given a stream that was synchronised, When a kernel is destroyed, Then it is released at once, by who does") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream stream(plugin);
  for (int i = 0; i < 5000; ++i) {
    auto held = std::make_shared<int>(0);
    const std::weak_ptr<int> watch = held;
    auto kernel = std::make_unique<Kernel>(plugin, [held] {});
    held.reset();
    stream.launch(*kernel);
    // Half of them are run by a worker, which may be yet to find that there is nothing more.
    CHECK(stream.synchronize(i % 2 == 0 ? forever : 60'000 * millisecond));
    kernel.reset();
    CHECK(watch.expired());
  }
}

}  // namespace test_helping_cases
