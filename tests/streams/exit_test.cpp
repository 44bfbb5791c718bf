// SPDX-License-Identifier: Apache-2.0
// The end of a process with work between backends under way.
#include <anyplace/anyplace.h>

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "streams/plugins/forward.h"
#include "support/host_gate.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace exit_test {

using namespace anyplace;

namespace {

/// What lives on while exit() runs.
struct AtExit {
  test::Forward& forward = test::new_forward();
  test::HostGate gate;
  std::function<void()> before;
};
AtExit* at_exit = nullptr;

void say(const char* text) { static_cast<void>(!::write(1, text, std::string(text).size())); }

/// A stream of sim_c that the core holds for one of cpu_sim, and that says "done" when it may go on.
void hold_a_stream() {
  at_exit = new AtExit;
  at_exit->forward.gates = false;
  at_exit->forward.install("sim_c");
  const Stream blocker(Device("cpu_sim:0"));
  const Stream held(Device("sim_c:0"));
  at_exit->gate.block(blocker);
  held.wait_stream(blocker);
  held.launch_host_func([] { say("done\n"); });
}

// ---- The core's threads, by the names that they have

bool is_polling_thread() {
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return std::string(name) == "anyplace-poll";
}

bool service_thread_runs() {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (test::read_file(thread.path() / "comm") == "anyplace-serve\n") return true;
  }
  return false;
}

enum class Kept { no, until_closed, until_service_ended };
std::atomic<Kept> polling_thread_is{Kept::no};
std::atomic<bool> events_are_closed{false};

/// Keeps the polling thread until the events are closed, and in its next round until the service thread has ended.
void outlive_service() {
  if (!is_polling_thread()) return;
  const bool first = polling_thread_is == Kept::no;
  polling_thread_is = first ? Kept::until_closed : Kept::until_service_ended;
  if (first) {
    while (!events_are_closed) std::this_thread::yield();
    // Then all that the thread polls for is due in its next round.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  } else {
    while (service_thread_runs()) std::this_thread::yield();
  }
}

/// Closes more events than are released at once, and exits while the polling thread has still to release them.
void close_events() {
  at_exit->forward.before_event_query = outlive_service;
  while (polling_thread_is != Kept::until_closed) std::this_thread::yield();
  at_exit->before();
  events_are_closed = true;
  while (polling_thread_is != Kept::until_service_ended) std::this_thread::yield();
  at_exit->gate.open();
}

}  // namespace

TEST_CASE("Handles that are closed right before the exit are given back") {
  const test::Ended result = test::in_child([] {
    std::atexit([] { std::printf("%d events are left\n", at_exit->forward.live_events.load()); });  // it runs last
    at_exit = new AtExit;
    at_exit->forward.install("sim_c");
    const Device device("sim_c:0");
    const Stream stream(device);
    // A graph that is let go while it runs makes the polling thread ask.
    at_exit->gate.block(stream);
    {
      Graph graph(device);
      graph.add_host_function({}, [] {});
      graph.instantiate().launch(stream);
    }
    // Another thread that uses the library makes closed handles wait in batches.
    std::promise<void> used;
    std::thread([&] {
      Event(device).record(Stream(device));
      used.set_value();
      std::promise<void>().get_future().wait();
    }).detach();
    used.get_future().wait();
    Event(device).record(Stream(device));
    static std::vector<Event> events;
    for (int i = 0; i < 40; ++i) events.emplace_back(device);
    at_exit->before = [] { events.clear(); };
    std::atexit(close_events);
    std::exit(0);
    return 0;
  });
  INFO(result.out);
  REQUIRE_FALSE(result.hung);
  REQUIRE(result.status == 0);
  REQUIRE(result.out.rfind("0 events are left", 0) == 0);
}

TEST_CASE("Given a held stream when the process exits and what it waits for completes then its work does too") {
  const test::Ended result = test::in_child([] {
    hold_a_stream();
    // Registered after the backends' own handler, hence run before it.
    std::atexit([] { at_exit->gate.open(); });
    return 0;
  });
  INFO(result.out);
  REQUIRE_FALSE(result.hung);
  REQUIRE(result.signal == 0);
  REQUIRE(result.status == 0);
  REQUIRE(result.out.find("done") != std::string::npos);
}

TEST_CASE("Given a held stream when the process exits and it never may go on then the exit is bounded and says so") {
  const test::Ended result = test::in_child([] {
    hold_a_stream();
    return 0;
  });
  INFO(result.out);
  REQUIRE_FALSE(result.hung);
  REQUIRE(result.signal == 0);
  REQUIRE(result.out.find("done") == std::string::npos);
  REQUIRE(result.out.find("left behind") != std::string::npos);
}

}  // namespace exit_test
