// SPDX-License-Identifier: Apache-2.0
//
// Many threads at once, on the same handles and on their own. What is checked is order and count; the sanitizers and
// the test's time limit check the rest.
#include <catch2/catch.hpp>
#include <memory>
#include <random>

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

}  // namespace test_stress_cases
