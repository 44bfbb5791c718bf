// SPDX-License-Identifier: Apache-2.0
//
// Streams, events, gates and host functions, where the conformance suite asks less: waits at many places of a stream,
// wrappers, long chains, what the null stream's rule is of, one host thread per device, and what is refused.
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "plugin.h"

namespace test_streams_cases {

using namespace cpu_sim_test;

TEST_CASE("Given many commands of all sorts, Then they run in the order in which they were submitted") {
  Plugin plugin;
  Log<int> log;
  Stream stream(plugin);
  Gate gate(plugin);
  stream.wait(gate);
  for (int i = 0; i < 3000; i += 3) {
    stream.run([&log, i] { log.add(i); });
    stream.host([&log, i] { log.add(i + 1); });
    // A kernel of many blocks counts as one: the last of its blocks is before the next command.
    auto left = std::make_shared<std::atomic<int>>(32);
    Kernel wide(plugin, [&log, left, i] {
      if (--*left == 0) log.add(i + 2);
    });
    stream.launch(wide, {4, 4, 2});
  }
  gate.open();
  CHECK(stream.synchronize());
  std::vector<int> expected(3000);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(log.entries() == expected);
}

TEST_CASE("Given many threads that wait on one stream at different places, Then each wakes when its place is reached") {
  Plugin plugin;
  Stream stream(plugin);
  constexpr int all_places = 20;
  std::vector<std::unique_ptr<Gate>> gates;
  std::vector<std::unique_ptr<Event>> events;
  for (int i = 0; i < all_places; ++i) {
    gates.push_back(std::make_unique<Gate>(plugin));
    events.push_back(std::make_unique<Event>(plugin));
    stream.wait(*gates.back());
    stream.record(*events.back());
  }
  std::vector<std::thread> threads;
  std::atomic<int> woken{0};
  for (int i = all_places; i-- > 0;) {
    threads.emplace_back([&, i] {
      if (events[i]->synchronize() && events[i]->done()) ++woken;
    });
  }
  for (int i = 0; i < all_places; ++i) {
    CHECK_FALSE(events[i]->done());
    gates[i]->open();
    CHECK(events[i]->synchronize());
    if (i + 1 < all_places) CHECK_FALSE(events[i + 1]->done());
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(woken == all_places);
}

TEST_CASE("Given a wrapper, When the stream it wraps is destroyed, Then the wrapper still works, its number not") {
  Plugin plugin;
  Stream stream(plugin);
  std::uint64_t native = 0;
  check(plugin->stream_native(plugin.self(), stream.handle, &native));
  const anyplace_stream_desc desc{sizeof(desc), 0, 0, 0, plugin.next_cookie()};
  anyplace_stream wrapper = 0, second = 0;
  check(plugin->stream_from_native(plugin.self(), 0, native, &desc, &wrapper));
  stream.destroy();
  std::atomic<bool> ran{false};
  {
    Kernel kernel(plugin, [&] { ran = true; });
    anyplace_launch launch{};
    launch.struct_size = sizeof(launch);
    std::fill_n(launch.grid, 3, 1u);
    std::fill_n(launch.block, 3, 1u);
    check(plugin->kernel_launch(plugin.self(), wrapper, kernel.handle, &launch));
  }
  CHECK(check_wait(plugin->stream_synchronize(plugin.self(), wrapper, forever)));
  CHECK(ran);
  CHECK(plugin->stream_from_native(plugin.self(), 0, native, &desc, &second) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  check(plugin->stream_destroy(plugin.self(), wrapper));
}

TEST_CASE("Given an unknown native number or another device's stream, Then wrapping it is INVALID_ARGUMENT") {
  Plugin plugin;
  Stream stream(plugin, Stream::on(1));
  std::uint64_t native = 0;
  check(plugin->stream_native(plugin.self(), stream.handle, &native));
  const anyplace_stream_desc desc{sizeof(desc), 0, 0, 0, plugin.next_cookie()};
  anyplace_stream out = 0;
  std::string text;
  for (std::uint64_t unknown : {std::uint64_t{0}, native + 1000, UINT64_MAX}) {
    CHECK(plugin->stream_from_native(plugin.self(), 1, unknown, &desc, &out) == ANYPLACE_STATUS_INVALID_ARGUMENT);
    CHECK_THAT(HostStub::take_message(), Catch::Contains(std::to_string(unknown)));
  }
  CHECK(plugin->stream_from_native(plugin.self(), 0, native, &desc, &out) == ANYPLACE_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("Given unknown flags, Then no stream is made") {
  Plugin plugin;
  CHECK(status_of([&] { Stream stream(plugin, {0, 0, 1u << 7}); }) == ANYPLACE_STATUS_INVALID_ARGUMENT);
}

// ---- Events

TEST_CASE("Given a chain of ten thousand streams, each waiting for the one before, Then the last one ends") {
  Plugin plugin;
  Gate gate(plugin);
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 10000; ++i) {
    streams.push_back(std::make_unique<Stream>(plugin));
    if (i == 0) {
      streams[0]->wait(gate);
    } else {
      Event event(plugin);
      streams[i - 1]->record(event);
      streams[i]->wait(event);
    }
  }
  CHECK_FALSE(streams.back()->done());
  gate.open();
  CHECK(streams.back()->synchronize());
}

TEST_CASE("Given flags that are unknown or contradict each other, Then no event is made") {
  Plugin plugin;
  CHECK(status_of([&] { Event event(plugin, ANYPLACE_EVENT_INTERPROCESS | ANYPLACE_EVENT_TIMING); }) ==
        ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(status_of([&] { Event event(plugin, 1u << 20); }) == ANYPLACE_STATUS_INVALID_ARGUMENT);
}

// ---- The null stream

TEST_CASE("Given a wait on the null stream for what is done, Then it still orders blocking streams around it") {
  Plugin plugin;
  Gate gate(plugin);
  Stream null(plugin, Stream::null()), a(plugin, Stream::blocking()), b(plugin, Stream::blocking());
  Event never_recorded(plugin);
  a.wait(gate);
  null.wait(never_recorded);
  b.run([] {});
  CHECK_FALSE(b.synchronize(millisecond));
  gate.open();
  CHECK(b.synchronize());
}

TEST_CASE("Given a blocking stream destroyed with work pending, Then the null stream still waits for it") {
  Plugin plugin;
  Gate gate(plugin);
  Stream null(plugin, Stream::null());
  std::atomic<bool> blocking_ran{false}, order_held{false};
  {
    Stream blocking(plugin, Stream::blocking());
    blocking.wait(gate);
    blocking.run([&] { blocking_ran = true; });
  }
  null.run([&] { order_held = blocking_ran.load(); });
  CHECK_FALSE(null.synchronize(millisecond));
  gate.open();
  CHECK(null.synchronize());
  CHECK(order_held);
}

TEST_CASE("Given the null stream, When it is asked for again, Then it is the same stream") {
  Plugin plugin;
  Gate gate(plugin);
  Stream first(plugin, Stream::null()), second(plugin, Stream::null());
  first.wait(gate);
  CHECK_FALSE(second.done());
  gate.open();
  CHECK(second.synchronize());
}

// ---- Gates

TEST_CASE("Given a gate that many streams of several devices wait for, When it opens, Then all go on") {
  Plugin plugin;
  Gate gate(plugin);
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 100; ++i) {
    streams.push_back(std::make_unique<Stream>(plugin, Stream::on(i % 2)));
    streams.back()->wait(gate);
  }
  for (const auto& stream : streams) CHECK_FALSE(stream->done());
  gate.open();
  for (const auto& stream : streams) CHECK(stream->synchronize());
}

TEST_CASE("Given an open gate with waits still pending, When it is destroyed, Then they pass") {
  Plugin plugin;
  Stream stream(plugin);
  Gate before(plugin);
  {
    Gate gate(plugin);
    stream.wait(before);
    stream.wait(gate);
    gate.open();
  }
  CHECK_FALSE(stream.done());
  before.open();
  CHECK(stream.synchronize());
}

// ---- Host functions

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

}  // namespace test_streams_cases
