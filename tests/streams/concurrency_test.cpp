// SPDX-License-Identifier: Apache-2.0
//
// Many threads, the same handles. What is checked is that every call either does its work or says that the handle is
// gone, that all work that was accepted runs, and (under the sanitizers) that nothing races.
#include <anyplace/anyplace.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "streams/plugins/forward.h"
#include "support/errors.h"
#include "support/threads.h"

namespace concurrency_test {

using namespace anyplace;
using namespace std::chrono_literals;

namespace {

constexpr int thread_count = 6;

/// Calls, and lets an invalid handle pass.
template <class Call>
bool tolerate(Call&& call) {
  try {
    call();
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_handle) throw;
    return false;
  }
}

}  // namespace

TEST_CASE("Given handles that some threads use and others replace then calls work or say that the handle is gone") {
  struct Shared {
    std::mutex mutex;  // guards the owners; the views are read without, as a user may
    Stream stream{Device("cpu_sim:0")};
    Event event{Device("cpu_sim:0")};
    std::atomic<std::uint64_t> stream_id{0};
    std::atomic<std::uint64_t> event_id{0};
  };
  std::array<Shared, 4> shared;
  for (Shared& one : shared) {
    one.stream_id = one.stream.id();
    one.event_id = one.event.id();
  }
  std::atomic<int> accepted{0};
  std::atomic<int> ran{0};
  test::on_threads(thread_count, [&](int seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    for (int i = 0; i < 400; ++i) {
      Shared& one = shared[random() % shared.size()];
      Shared& two = shared[random() % shared.size()];
      const StreamView stream(one.stream_id.load());
      const EventView event(two.event_id.load());
      switch (random() % 9) {
        case 0: {
          const std::lock_guard lock(one.mutex);
          one.stream = Stream(Device("cpu_sim:0"), {.blocking = random() % 2 == 0});
          one.stream_id = one.stream.id();
          break;
        }
        case 1: {
          const std::lock_guard lock(one.mutex);
          one.event = Event(Device("cpu_sim:0"), {.timing = true});
          one.event_id = one.event.id();
          break;
        }
        case 2:
          if (tolerate([&] { stream.launch_host_func([&] { ++ran; }); })) ++accepted;
          break;
        case 3:
          tolerate([&] { event.record(stream); });
          break;
        case 4:
          tolerate([&] { stream.wait_event(event); });
          break;
        case 5:
          tolerate([&] { stream.wait_stream(StreamView(two.stream_id.load())); });
          break;
        case 6:
          tolerate([&] { static_cast<void>(stream.synchronize(1ms)); });
          break;
        case 7:
          tolerate([&] { event.synchronize(); });
          break;
        case 8:
          tolerate([&] { static_cast<void>(stream.query() && event.query()); });
          break;
      }
    }
  });
  Device("cpu_sim:0").synchronize();
  REQUIRE(ran == accepted);
}

TEST_CASE("Given three backends with and without gates when threads make their streams wait crosswise then all ends") {
  test::Forward& with_gates = test::new_forward();
  test::Forward& without_gates = test::new_forward();
  without_gates.gates = false;
  with_gates.host_functions = false;
  with_gates.install("sim_b");
  without_gates.install("sim_c");
  const std::array<const char*, 5> places{"cpu_sim:0", "sim_b:0", "sim_b:1", "sim_c:0", "sim_c:1"};
  std::atomic<int> accepted{0};
  std::atomic<int> ran{0};
  {
    std::vector<Stream> streams;
    for (const char* place : places) streams.emplace_back(Device(place));
    test::on_threads(thread_count, [&](int seed) {
      std::mt19937 random(static_cast<unsigned>(seed));
      for (int i = 0; i < 120; ++i) {
        const Stream& one = streams[random() % streams.size()];
        const Stream& two = streams[random() % streams.size()];
        switch (random() % 6) {
          case 0:
          case 1:
            one.wait_stream(two);
            break;
          case 2:
            if (one.device().has(Capability::host_functions)) {
              one.launch_host_func([&] { ++ran; });
              ++accepted;
            }
            break;
          case 3: {
            const Event event = one.record_event();
            two.wait_event(event);
            event.record(Stream(one.device()));
            two.wait_event(event);
            break;
          }
          case 4: {
            const Stream brief(one.device());
            brief.wait_stream(two);
            Buffer buffer(brief, 256);
            brief.memset8(buffer, 1);
            break;
          }
          case 5:
            static_cast<void>(one.synchronize(std::chrono::microseconds(200)));
            static_cast<void>(one.query());
            break;
        }
      }
    });
    for (const Stream& stream : streams) stream.synchronize();
  }
  for (const char* place : places) Device(place).synchronize();
  REQUIRE(ran == accepted);
}

TEST_CASE("Given faults on many streams when threads collect them then each is reported once") {
  const Device device("cpu_sim:0");
  std::atomic<int> collected{0};
  const test::Reports reports;
  constexpr int rounds = 50;
  test::on_threads(thread_count, [&](int) {
    for (int i = 0; i < rounds; ++i) {
      const Stream stream(device);
      stream.launch_host_func([] { throw 1; });
      std::thread other([&] {
        if (test::code_of([&] { stream.synchronize(); }) == ErrorCode::host_function_failed) ++collected;
      });
      if (test::code_of([&] { stream.synchronize(); }) == ErrorCode::host_function_failed) ++collected;
      other.join();
    }
  });
  REQUIRE(collected == thread_count * rounds);
  REQUIRE(reports.all().empty());
}

}  // namespace concurrency_test
