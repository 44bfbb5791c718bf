// SPDX-License-Identifier: Apache-2.0
//
// Ending handles that other threads are using on the fast path: with many threads, with some that are stuck in a call,
// and where the system has no membarrier.
#include <anyplace/anyplace.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <random>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "streams/plugins/fragile.h"
#include "support/errors.h"
#include "support/threads.h"

namespace hazard_pointer_test {

using namespace anyplace;
using test::code_of;

namespace {

constexpr std::string_view image = ".version 7.0\n.target sm_52\n";

std::span<const std::byte> image_bytes() { return std::as_bytes(std::span(image.data(), image.size())); }

test::Fragile& new_fragile() {
  static test::Fragile* const made = new test::Fragile;  // the plugin uses it until the process ends
  return *made;
}

/// Owners, and their ids, which are read without the mutex as a user may.
struct Shared {
  std::mutex mutex;  // guards the owners
  Stream stream{Device("fragile:0")};
  Event event{Device("fragile:0")};
  Module module{Device("fragile:0"), image_bytes()};
  std::atomic<std::uint64_t> stream_id{stream.id()};
  std::atomic<std::uint64_t> event_id{event.id()};
  std::atomic<std::uint64_t> kernel_id{module.kernel("k").id()};

  /// Ends one of the owners and puts a new one in its place.
  void replace(unsigned which) {
    const std::lock_guard lock(mutex);
    if (which == 0) {
      stream = Stream(Device("fragile:0"));
      stream_id = stream.id();
    } else if (which == 1) {
      module = Module(Device("fragile:0"), image_bytes());
      kernel_id = module.kernel("k").id();
    } else {
      event = Event(Device("fragile:0"));
      event_id = event.id();
    }
  }
};

struct Outcome {
  std::atomic<int> surprises{0};  ///< errors that aren't invalid_handle
};

void use(const std::array<Shared, 4>& shared, unsigned seed, int count, Outcome& outcome) {
  std::mt19937 random(seed);
  const auto any = [&]() -> const Shared& { return shared[random() % shared.size()]; };
  for (int i = 0; i < count; ++i) {
    const StreamView stream(any().stream_id.load());
    const EventView event(any().event_id.load());
    const KernelView kernel(any().kernel_id.load());
    const ErrorCode code = code_of([&] {
      switch (random() % 7) {
        case 0:
          return event.record(stream);
        case 1:
          return stream.wait_event(event);
        case 2:
          return static_cast<void>(event.query());
        case 3:
          return static_cast<void>(stream.query());
        case 4:
          return event.synchronize();
        case 5:
          return stream.synchronize();
        default:
          return stream.launch(kernel, {1, 1});
      }
    });
    if (code != ErrorCode::ok && code != ErrorCode::invalid_handle) ++outcome.surprises;
  }
}

/// `users` threads use handles that four others replace; then all that was replaced ends.
void use_and_replace(unsigned users, int uses, int replacements) {
  test::Fragile& fragile = new_fragile();
  std::array<Shared, 4> shared;
  Outcome outcome;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < users; ++i) {
    threads.emplace_back([&, i] { use(shared, i, uses, outcome); });
  }
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(1000 + i);
      for (int j = 0; j < replacements; ++j) shared[random() % shared.size()].replace(random() % 8);
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(outcome.surprises == 0);
  fragile.wait_until_destroyed(4 * replacements);
  REQUIRE(fragile.destroyed == 4 * replacements);
  REQUIRE(fragile.misused == 0);
}

}  // namespace

TEST_CASE("Given 64 threads that use handles while others end them then no backend sees one after its end") {
  use_and_replace(64, 1000, 500);
}

TEST_CASE("Given no membarrier when threads use handles that others end then no backend sees one after its end") {
  ::setenv("ANYPLACE_MEMBARRIER", "0", 1);
  use_and_replace(8, 2000, 500);
}

TEST_CASE("Given a thread that is stuck in a call when other handles end then they don't wait for it") {
  test::Fragile& fragile = new_fragile();
  const Stream stream(Device("fragile:0"));
  Event used(Device("fragile:0"));
  used.record(stream);
  std::thread stuck([&, event = used.view()] {
    static_cast<void>(event.query());
    fragile.stop_next_call();
    static_cast<void>(event.query());
  });
  fragile.wait_until_stopped();
  for (int i = 0; i < 100; ++i) {
    const int before = fragile.destroyed;
    {
      const Event other(Device("fragile:0"));
      other.record(stream);
    }
    fragile.wait_until_destroyed(before + 1);
  }
  // What the stuck thread uses is the only thing that waits for it.
  const int before = fragile.destroyed;
  used = Event();
  REQUIRE(fragile.destroyed == before);
  fragile.let_go();
  stuck.join();
  fragile.wait_until_destroyed(before + 1);
  REQUIRE(fragile.misused == 0);
}

TEST_CASE("Given many events that end in a row while others make calls then each ends though no more follow") {
  test::Fragile& fragile = new_fragile();
  const Stream stream(Device("fragile:0"));
  const Event event(Device("fragile:0"));
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) event.record(stream);
  });
  for (const int count : {1000, 1, 45}) {
    std::vector<Event> events;
    for (int i = 0; i < count; ++i) events.emplace_back(Device("fragile:0"));
    for (const Event& used : events) used.record(stream);
    const int before = fragile.destroyed;
    events.clear();
    fragile.wait_until_destroyed(before + count);
    REQUIRE(fragile.destroyed == before + count);
  }
  over = true;
  other.join();
  REQUIRE(fragile.misused == 0);
}

TEST_CASE("Given threads that end with closed events left over when nobody else ends any then those end too") {
  test::Fragile& fragile = new_fragile();
  const Stream stream(Device("fragile:0"));
  const Event event(Device("fragile:0"));
  for (int i = 0; i < 3; ++i) event.record(stream);  // this thread may borrow
  test::on_threads(4, [&](int) {
    for (int j = 0; j < 50; ++j) {
      const Event used(Device("fragile:0"));
      used.record(stream);
    }
  });
  fragile.wait_until_destroyed(200);
  REQUIRE(fragile.misused == 0);
}

TEST_CASE("Given a handle that several threads are using when it ends then it outlives the last of them") {
  test::Fragile& fragile = new_fragile();
  Stream stream(Device("fragile:0"));
  std::array<Event, 3> events{Event(Device("fragile:0")), Event(Device("fragile:0")), Event(Device("fragile:0"))};
  std::atomic<int> warm{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (const Event& event : events) {
    threads.emplace_back([&, mark = event.view(), view = stream.view()] {
      for (int i = 0; i < 2; ++i) mark.record(view);
      ++warm;
      while (!go) std::this_thread::yield();
      mark.record(view);
    });
  }
  while (warm < 3) std::this_thread::yield();
  fragile.stop_all_calls();
  go = true;
  fragile.wait_until_stopped(3);
  const int before = fragile.destroyed;
  stream = Stream();
  REQUIRE(fragile.destroyed == before);
  fragile.let_go();
  for (std::thread& thread : threads) thread.join();
  fragile.wait_until_destroyed(before + 1);
  REQUIRE(fragile.misused == 0);
}

}  // namespace hazard_pointer_test
