// SPDX-License-Identifier: Apache-2.0
//
// One stream: order, asynchrony, waiting, destruction, native handles.
#include <catch2/catch.hpp>
#include <memory>
#include <numeric>
#include <thread>

#include "plugin.h"

namespace test_streams_cases {

using namespace cpu_sim_test;

TEST_CASE("Given a new stream, Then it is done and synchronises at once") {
  Plugin plugin;
  Stream stream(plugin);
  CHECK(stream.done());
  CHECK(stream.synchronize(0));
  CHECK(stream.synchronize());
}

TEST_CASE("Given a blocked stream, When work is submitted, Then the call returns and the work runs only later") {
  Plugin plugin;
  Gate gate(plugin);
  Stream stream(plugin);
  std::atomic<bool> ran{false};
  stream.wait(gate);
  stream.run([&] { ran = true; });
  CHECK_FALSE(stream.done());
  CHECK_FALSE(ran);
  gate.open();
  CHECK(stream.synchronize());
  CHECK(stream.done());
  CHECK(ran);
}

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

TEST_CASE("Given two streams, When the work of one waits for the other's, Then both run at the same time") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream a(plugin), b(plugin);
  Flag from_a, from_b;
  a.run([&] {
    from_a.set();
    from_b.wait();
  });
  b.run([&] {
    from_b.set();
    from_a.wait();
  });
  CHECK(a.synchronize());
  CHECK(b.synchronize());
}

TEST_CASE("Given a blocked stream, When it is synchronised with a timeout, Then that runs out and the work goes on") {
  Plugin plugin;
  Gate gate(plugin);
  Stream stream(plugin);
  stream.wait(gate);
  CHECK_FALSE(stream.synchronize(0));
  CHECK_FALSE(stream.synchronize(1));
  CHECK_FALSE(stream.synchronize(3 * millisecond));
  gate.open();
  CHECK(stream.synchronize(UINT64_MAX - 1));  // past any clock, so no limit
}

TEST_CASE("Given a very long timeout, When the work completes, Then the wait ends") {
  Plugin plugin;
  for (std::uint64_t timeout : {std::uint64_t{1} << 62, std::uint64_t{1} << 63, UINT64_MAX - 1, UINT64_MAX}) {
    Gate gate(plugin);
    Stream stream(plugin);
    stream.wait(gate);
    Flag about_to_wait;
    std::thread opener([&] {
      about_to_wait.wait();
      gate.open();
    });
    about_to_wait.set();
    CHECK(stream.synchronize(timeout));
    opener.join();
  }
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

TEST_CASE("Given pending work, When the stream is destroyed, Then that returns at once and the work completes") {
  Plugin plugin;
  Gate gate(plugin);
  Event event(plugin);
  std::atomic<int> ran{0};
  {
    Stream stream(plugin);
    stream.wait(gate);
    for (int i = 0; i < 100; ++i) stream.run([&] { ++ran; });
    stream.host([&] { ++ran; });
    stream.record(event);
  }
  CHECK(ran == 0);
  CHECK_FALSE(event.done());
  gate.open();
  CHECK(event.synchronize());
  CHECK(ran == 101);
}

TEST_CASE("Given a priority outside the range, Then it counts as the nearest end") {
  Plugin plugin;
  for (std::int32_t priority : {INT32_MIN, -100, 100, INT32_MAX}) {
    Stream stream(plugin, Stream::priority(priority));
    std::atomic<bool> ran{false};
    stream.run([&] { ran = true; });
    CHECK(stream.synchronize());
    CHECK(ran);
  }
}

TEST_CASE("Given streams, Then their native numbers are unique, and a wrapper of one is the same stream") {
  Plugin plugin;
  Stream a(plugin), b(plugin);
  std::uint64_t native_a = 0, native_b = 0, native_wrapped = 0;
  check(plugin->stream_native(plugin.self(), a.handle, &native_a));
  check(plugin->stream_native(plugin.self(), b.handle, &native_b));
  CHECK(native_a != native_b);

  const anyplace_stream_desc desc{sizeof(desc), 0, 0, 0, plugin.next_cookie()};
  anyplace_stream wrapper = 0;
  check(plugin->stream_from_native(plugin.self(), 0, native_a, &desc, &wrapper));
  check(plugin->stream_native(plugin.self(), wrapper, &native_wrapped));
  CHECK(native_wrapped == native_a);

  Gate gate(plugin);
  check(plugin->stream_wait_gate(plugin.self(), wrapper, gate.handle));
  CHECK_FALSE(a.done());
  check(plugin->stream_destroy(plugin.self(), wrapper));
  gate.open();
  CHECK(a.synchronize());
  std::atomic<bool> ran{false};
  a.run([&] { ran = true; });
  CHECK(a.synchronize());
  CHECK(ran);
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

}  // namespace test_streams_cases
