// SPDX-License-Identifier: Apache-2.0
//
// Many threads at once, on the same handles and on their own. What is checked is order and count; the sanitizers and
// the test's time limit check the rest.
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <thread>

#include "plugin.h"
#include "support/threads.h"

namespace test_stress_cases {

using namespace cpu_sim_test;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int rounds = 200;
#else
constexpr int rounds = 1000;
#endif

}  // namespace

TEST_CASE("Given 16 threads that submit to the same few streams, Then nothing is lost") {
  Plugin plugin(Environment{{"WORKERS", "4"}});
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(std::make_unique<Stream>(plugin));
  streams.push_back(std::make_unique<Stream>(plugin, Stream::blocking()));
  streams.push_back(std::make_unique<Stream>(plugin, Stream::null()));
  std::vector<std::unique_ptr<Event>> events;
  for (int i = 0; i < 4; ++i)
    events.push_back(std::make_unique<Event>(plugin, i % 2 ? std::uint32_t{ANYPLACE_EVENT_TIMING} : 0u));
  std::atomic<int> ran{0};
  Kernel kernel(plugin, [&] { ++ran; });
  std::atomic<int> launched{0};
  test::on_threads(16, [&](int thread) {
    std::mt19937 random(static_cast<unsigned>(thread));
    for (int i = 0; i < rounds; ++i) {
      Stream& stream = *streams[random() % streams.size()];
      Event& event = *events[random() % events.size()];
      switch (random() % 8) {
        case 0:
        case 1:
          stream.launch(kernel);
          ++launched;
          break;
        case 2:
          stream.launch(kernel, {5, 1, 1});
          launched += 5;
          break;
        case 3:
          stream.host([&] { ++ran; });
          ++launched;
          break;
        case 4:
          stream.record(event);
          break;
        case 5:
          stream.wait(event);
          break;
        case 6:
          stream.done();
          event.done();
          stream.synchronize(random() % 2 == 0 ? 0 : 1000);
          break;
        default:
          event.synchronize();
          break;
      }
    }
  });
  CHECK(plugin.synchronize(0));
  CHECK(ran == launched);
}

TEST_CASE("Given threads that make and destroy streams, events and gates with work pending, Then all work runs") {
  Plugin plugin(Environment{{"WORKERS", "4"}});
  std::atomic<int> ran{0};
  test::on_threads(8, [&](int thread) {
    for (int i = 0; i < rounds / 2; ++i) {
      Gate gate(plugin, thread % 2);
      Stream first(plugin, {thread % 2, i % 4 - 2, i % 3 == 0 ? std::uint32_t{ANYPLACE_STREAM_BLOCKING} : 0u});
      Stream second(plugin, Stream::on((thread + 1) % 2));
      Event event(plugin, i % 2 ? std::uint32_t{ANYPLACE_EVENT_TIMING} : 0u, thread % 2);
      first.wait(gate);
      first.run([&] { ++ran; });
      first.record(event);
      second.wait(event);
      second.run([&] { ++ran; });
      if (i % 5 == 0) second.host([] {});
      gate.open();
      if (i % 7 == 0) second.synchronize();
    }
  });
  CHECK(plugin.synchronize(0));
  CHECK(plugin.synchronize(1));
  CHECK(ran == 8 * (rounds / 2) * 2);
}

TEST_CASE("Given a random graph over 16 streams, Then no command starts before what it waits for is done") {
  Plugin plugin(Environment{{"WORKERS", "3"}});
  std::mt19937 random(7);
  constexpr std::size_t stream_count = 16;
  std::vector<std::unique_ptr<Stream>> streams;
  for (std::size_t i = 0; i < stream_count; ++i) {
    streams.push_back(std::make_unique<Stream>(plugin, Stream::priority(static_cast<int>(i % 4) - 2)));
  }
  std::vector<std::unique_ptr<Event>> events(stream_count);
  const auto count = static_cast<std::size_t>(10 * rounds);
  std::vector<std::atomic<bool>> done(count);
  std::vector<std::size_t> last(stream_count, count);
  std::atomic<int> wrong{0};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t mine = random() % stream_count, other = random() % stream_count;
    std::size_t needed = count;
    if (random() % 4 == 0 && last[other] != count) {
      Event event(plugin);
      streams[other]->record(event);
      streams[mine]->wait(event);
      needed = last[other];
    }
    const std::size_t before = last[mine];
    last[mine] = i;
    streams[mine]->run([&, i, before, needed] {
      if ((before != count && !done[before]) || (needed != count && !done[needed])) ++wrong;
      done[i] = true;
    });
  }
  CHECK(plugin.synchronize(0));
  CHECK(wrong == 0);
  CHECK(std::all_of(done.begin(), done.end(), [](const std::atomic<bool>& each) { return each.load(); }));
}

TEST_CASE("Given submit and synchronise in turn from many threads, Then each sees its own work done") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  std::atomic<int> wrong{0};
  test::on_threads(8, [&](int thread) {
    Stream stream(plugin, thread % 2 == 0 ? Stream::on(0) : Stream::blocking());
    std::atomic<int> ran{0};
    Kernel kernel(plugin, [&] { ran.fetch_add(1, std::memory_order_relaxed); });
    for (int i = 1; i <= rounds; ++i) {
      stream.launch(kernel, {i % 10 == 0 ? 4u : 1u, 1, 1});
      if (i % 10 == 0) ran -= 3;
      if (!stream.synchronize(i % 3 == 0 ? 60'000 * millisecond : forever) || ran != i) ++wrong;
      if (!stream.done()) ++wrong;
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("Given waits that race with completion and with short timeouts, Then no wake-up is lost") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  test::on_threads(4, [&](int) {
    Stream stream(plugin);
    Event event(plugin);
    for (int i = 0; i < rounds; ++i) {
      stream.run([] {});
      stream.record(event);
      if (i % 2 == 0) stream.synchronize(static_cast<std::uint64_t>(i) * 100);
      event.synchronize();
    }
  });
  CHECK(plugin.synchronize(0));
}

}  // namespace test_stress_cases
