// SPDX-License-Identifier: Apache-2.0
//
// Host functions and the thread that they have to themselves.
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "plugin.h"

namespace test_host_functions_cases {

using namespace cpu_sim_test;

TEST_CASE("Given a host function, Then it runs once, in order, with OK, on a thread that is not the caller's") {
  Plugin plugin;
  Stream stream(plugin);
  Log<int> log;
  std::thread::id thread;
  struct Seen {
    std::atomic<int> calls{0};
    std::atomic<int> status{-1};
  } seen;
  stream.run([&] { log.add(1); });
  stream.host([&] {
    thread = std::this_thread::get_id();
    log.add(2);
  });
  stream.run([&] { log.add(3); });
  check(plugin->stream_host_function(
      plugin.self(), stream.handle,
      [](void* user, anyplace_status status) {
        ++static_cast<Seen*>(user)->calls;
        static_cast<Seen*>(user)->status = status;
      },
      &seen));
  CHECK(stream.synchronize());
  CHECK(log.entries() == std::vector<int>{1, 2, 3});
  CHECK(thread != std::this_thread::get_id());
  CHECK(seen.calls == 1);
  CHECK(seen.status == ANYPLACE_STATUS_OK);
}

TEST_CASE("Given a blocked host function, Then kernels and copies of other streams run, also with one worker") {
  Plugin plugin(Environment{{"WORKERS", "1"}});
  Flag entered, leave;
  Stream blocked(plugin), other(plugin);
  std::atomic<bool> ran_behind{false};
  blocked.host([&] {
    entered.set();
    leave.wait();
  });
  blocked.run([&] { ran_behind = true; });
  entered.wait();
  int from = 5, to = 0;
  std::atomic<bool> ran{false};
  other.run([&] { ran = true; });
  other.copy(&to, &from, sizeof(to));
  CHECK(other.synchronize());
  CHECK(ran);
  CHECK(to == 5);
  CHECK_FALSE(blocked.done());
  CHECK_FALSE(ran_behind);
  leave.set();
  CHECK(blocked.synchronize());
  CHECK(ran_behind);
}

TEST_CASE("Given a blocked host function, Then those of the same device wait, those of another device run") {
  Plugin plugin;
  Flag entered, leave;
  Stream blocked(plugin, Stream::on(0)), same(plugin, Stream::on(0)), elsewhere(plugin, Stream::on(1));
  blocked.host([&] {
    entered.set();
    leave.wait();
  });
  entered.wait();
  std::atomic<bool> same_ran{false}, elsewhere_ran{false};
  same.host([&] { same_ran = true; });
  elsewhere.host([&] { elsewhere_ran = true; });
  CHECK(elsewhere.synchronize());
  CHECK(elsewhere_ran);
  CHECK_FALSE(same.synchronize(millisecond));
  CHECK_FALSE(same_ran);
  leave.set();
  CHECK(same.synchronize());
  CHECK(same_ran);
}

TEST_CASE("Given many streams with host functions, Then each device runs its own one at a time") {
  Plugin plugin;
  std::vector<std::unique_ptr<Stream>> streams;
  std::atomic<int> inside[2] = {0, 0};
  std::atomic<int> calls{0}, overlaps{0};
  for (int i = 0; i < 40; ++i) {
    streams.push_back(std::make_unique<Stream>(plugin, Stream::on(i % 2)));
    for (int j = 0; j < 20; ++j) {
      streams.back()->host([&, i] {
        if (++inside[i % 2] != 1) ++overlaps;
        ++calls;
        --inside[i % 2];
      });
    }
  }
  CHECK(plugin.synchronize(0));
  CHECK(plugin.synchronize(1));
  CHECK(calls == 800);
  CHECK(overlaps == 0);
}

TEST_CASE(
    "Given host functions one behind the other on a stream, Then they run in order, and a kernel between them too") {
  Plugin plugin;
  Stream stream(plugin);
  Gate gate(plugin);
  std::vector<int> order;
  std::vector<int> expected;
  stream.wait(gate);
  for (int i = 0; i < 1000; ++i) {
    if (i % 10 == 9) {
      stream.run([&, i] { order.push_back(i); });
    } else {
      stream.host([&, i] { order.push_back(i); });
    }
    expected.push_back(i);
  }
  gate.open();
  CHECK(stream.synchronize());
  CHECK(order == expected);
}

TEST_CASE("Given a stream that never runs out of host functions, Then those of another stream run all the same") {
  Plugin plugin;
  Stream endless(plugin), other(plugin);
  std::atomic<bool> other_ran{false};
  Flag ended;
  const std::function<void()> next = [&] {
    if (other_ran) {
      ended.set();
    } else {
      endless.host(next);
    }
  };
  for (int i = 0; i < 4; ++i) endless.host(next);
  other.host([&] { other_ran = true; });
  CHECK(other.synchronize());
  ended.wait();
  CHECK(endless.synchronize());
}

TEST_CASE("Given a host function that throws through the boundary, Then it is the stream's fault and later work runs") {
  Plugin plugin;
  Stream stream(plugin);
  std::atomic<bool> ran{false};
  check(plugin->stream_host_function(
      plugin.self(), stream.handle, [](void*, anyplace_status) { throw std::runtime_error("thrown by the host"); },
      nullptr));
  stream.run([&] { ran = true; });
  CHECK(stream.synchronize());
  CHECK(ran);
  const std::vector<Fault> faults = plugin.host().faults();
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].cookie == stream.cookie);
  CHECK(faults[0].status == ANYPLACE_STATUS_HOST_FUNCTION_FAILED);
  CHECK_THAT(faults[0].text, Catch::Contains("thrown by the host"));
}

TEST_CASE("Given a null host function, Then it is INVALID_ARGUMENT and nothing is submitted") {
  Plugin plugin;
  Stream stream(plugin);
  CHECK(plugin->stream_host_function(plugin.self(), stream.handle, nullptr, nullptr) ==
        ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(stream.done());
}

}  // namespace test_host_functions_cases
