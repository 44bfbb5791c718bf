// SPDX-License-Identifier: Apache-2.0
//
// How the deterministic mode lets the process come to rest (docs/cpu_sim-deterministic.md): which threads and
// operations it waits for before a call and before a choice. The hidden cases at the end are the programs.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugin.h"
#include "scheduled.h"

namespace test_deterministic_rest_cases {

using namespace cpu_sim_test;

namespace {

/// Returns how many different reports there were.
std::size_t run_several_times(const std::string& program, const std::string& strategy) {
  std::set<std::string> reports;
  for (int i = 0; i < 7; ++i) {
    const Scheduled ended = run(program, strategy);
    INFO(ended.out);
    CHECK(ended.status == 0);
    reports.insert(ended.report);
  }
  return reports.size();
}

}  // namespace

TEST_CASE("Given a host function that the host has let go on, Then a query that follows waits for it") {
  const Scheduled ended = run("let_go_on", "eager");
  INFO(ended.out);
  CHECK(ended.status == 0);
}

TEST_CASE("Given a thread that was woken before a call, Then which of the two begins its call first is a choice") {
  std::set<std::string> orders;
  for (int seed = 0; seed < 20; ++seed) {
    const Scheduled ended = run("woken_thread", "random", std::to_string(seed));
    CHECK(ended.status == 0);
    orders.insert(ended.out.substr(ended.out.find("order "), 8));
    CHECK(run("woken_thread", "random", std::to_string(seed)).report == ended.report);
  }
  CHECK(orders == std::set<std::string>{"order ab", "order ba"});
}

TEST_CASE("Given the core's thread for what a program leaves to it, Then it is waited for as one of the program's") {
  const Scheduled ended = run("service_thread", "eager");
  INFO(ended.out);
  CHECK(ended.status == 0);
  CHECK_THAT(ended.report, Catch::Contains("\"continue: memory_allocate\""));
  CHECK(run("service_thread", "eager").report == ended.report);
}

TEST_CASE("Given a thread that starts another and waits for it, Then that one's call is there at the next choice") {
  CHECK(run_several_times("started_thread", "random") == 1);
}

TEST_CASE("Given operations that one call lets go on, Then what follows them is ready in the order of their streams") {
  CHECK(run_several_times("end_at_once", "eager") == 1);
}

TEST_CASE("Given an operation that sleeps by the clock, Then it is waited for as one that computes") {
  CHECK(run_several_times("sleeping_operation", "random") == 1);
  CHECK_THAT(run("sleeping_operation", "random").report, Catch::Contains("\"uncontrolled\":0"));
}

TEST_CASE("Given a thread that ended a while ago or just now, Then the schedule that follows is the same") {
  CHECK(run_several_times("ended_thread", "random") == 1);
}

TEST_CASE("Given two threads in a deadlock, Then it names them in the order of their numbers, whoever came first") {
  const Scheduled ended = run("two_in_deadlock", "random");
  CHECK_THAT(ended.report, Catch::Contains("{\"deadlock\":\"thread 1 waits in stream_synchronize") &&
                               Catch::Contains("; thread 2 waits in stream_synchronize"));
}

TEST_CASE("Given a program whose first thread has ended, Then the others aren't kept waiting for it") {
  const Scheduled ended = run("first_thread_ends", "random");
  INFO(ended.out);
  CHECK(ended.status == 0);
  CHECK_THAT(ended.report, Catch::Contains("{\"choice\":0,") && !Catch::Contains("\"uncontrolled\""));
}

namespace {

/// Takes the thread's time, and no call.
unsigned compute(unsigned rounds) {
  std::atomic<unsigned> number{0};
  while (number.fetch_add(1) < rounds) continue;
  return number;
}

}  // namespace

// ---- The programs ---------------------------------------------------------------------------------------------------

TEST_CASE("Program: a query follows what lets a host function go on", "[.let_go_on]") {
  Plugin plugin;
  Stream stream(plugin);
  unsigned sum = 0;
  for (int i = 0; i < 50; ++i) {
    Flag flag;
    stream.host([&] {
      flag.wait();
      sum += compute(100'000);
    });
    flag.set();
    CHECK(stream.done());
  }
  WARN("sum " << sum);
}

TEST_CASE("Program: a thread is woken, and both call", "[.woken_thread]") {
  Plugin plugin;
  Flag flag;
  std::mutex mutex;
  std::string order;
  const auto call = [&](char name) {
    const Stream stream(plugin);
    const std::lock_guard lock(mutex);
    order += name;
  };
  std::thread other([&] {
    flag.wait();
    call('b');
  });
  const Stream one(plugin);  // The other thread waits when this returns.
  flag.set();
  call('a');
  other.join();
  WARN("order " << order);
}

TEST_CASE("Program: a host function wakes a thread of the core's name, which computes and calls", "[.service_thread]") {
  Plugin plugin;
  Stream stream(plugin);
  Flag flag;
  std::uint64_t address = 0;
  std::thread service([&] {
    pthread_setname_np(pthread_self(), "anyplace-serve");
    flag.wait();
    compute(1'000'000);
    plugin->memory_allocate(plugin.self(), 0, ANYPLACE_MEMORY_DEVICE, 4096, &address);
  });
  stream.host([&] { flag.set(); });
  stream.host([] {});
  CHECK(stream.synchronize());
  service.join();
  CHECK(address != 0);
  plugin->memory_free(plugin.self(), 0, ANYPLACE_MEMORY_DEVICE, address);
}

TEST_CASE("Program: kernels of two streams wait for one flag, and others follow them", "[.end_at_once]") {
  Plugin plugin;
  Stream first(plugin), second(plugin);
  for (unsigned i = 0; i < 100; ++i) {
    Flag flag;
    first.run([&] { flag.wait(); });
    second.run([&] { flag.wait(); });
    first.run([] {});
    second.run([] {});
    flag.set();
    CHECK(first.synchronize());
    CHECK(second.synchronize());
  }
}

TEST_CASE("Program: a host function sleeps while another stream has work", "[.sleeping_operation]") {
  Plugin plugin;
  Stream first(plugin), second(plugin);
  for (int i = 0; i < 10; ++i) {
    first.host([] { std::this_thread::sleep_for(std::chrono::microseconds(300)); });
    first.run([] {});
    for (int k = 0; k < 4; ++k) second.run([] {});
  }
  CHECK(first.synchronize());
  CHECK(second.synchronize());
}

TEST_CASE("Program: a thread submits and ends, and the first one goes on sooner or later", "[.ended_thread]") {
  Plugin plugin;
  Stream first(plugin), second(plugin);
  for (unsigned i = 0; i < 30; ++i) {
    std::thread([&] { first.run([] {}); }).join();
    compute(i * 13'000);
    second.run([] {});
  }
  CHECK(first.synchronize());
  CHECK(second.synchronize());
}

TEST_CASE("Program: two threads wait for gates that nobody opens, and the second comes first", "[.two_in_deadlock]") {
  Plugin plugin;
  Stream first(plugin), second(plugin);
  Gate gate(plugin);
  first.wait(gate);
  second.wait(gate);
  std::thread later([&] {
    compute(100'000);
    first.synchronize();
  });
  std::thread sooner([&] { second.synchronize(); });
  later.join();
  sooner.join();
}

TEST_CASE("Program: its first thread ends, and two others call", "[.first_thread_ends]") {
  static Plugin plugin;
  std::thread([] {
    std::thread other([] { const Stream stream(plugin); });
    { const Stream stream(plugin); }
    other.join();
    _exit(0);  // A leak checker at exit() would miss what the first thread's stack holds.
  }).detach();
  syscall(SYS_exit, 0);
}

// The programs' threads go on while the process is listed, as on a machine that is busy: the plugin calls these two.
namespace {
std::atomic<bool> lists_slowly{false};

/// Now for longer, now not at all.
void let_others_go_on() {
  static std::atomic<unsigned> count{0};
  if (lists_slowly) usleep(count.fetch_add(3) % 30);
}
}  // namespace

extern "C" __attribute__((visibility("default"))) DIR* opendir(const char* name) {
  static const auto next = reinterpret_cast<DIR* (*)(const char*)>(dlsym(RTLD_NEXT, "opendir"));
  let_others_go_on();
  return next(name);
}

extern "C" __attribute__((visibility("default"))) int closedir(DIR* folder) {
  static const auto next = reinterpret_cast<int (*)(DIR*)>(dlsym(RTLD_NEXT, "closedir"));
  const int result = next(folder);
  let_others_go_on();
  return result;
}

TEST_CASE("Program: a thread calls all the time, and one after the other is started and calls", "[.started_thread]") {
  lists_slowly = true;
  Plugin plugin;
  std::atomic<bool> is_over{false};
  std::thread caller([&] {
    while (!is_over) const Stream stream(plugin);
  });
  for (int i = 0; i < 1000; ++i) {
    std::thread([&] {
      compute(20'000);
      const Stream stream(plugin);
    }).join();
  }
  is_over = true;
  caller.join();
}

}  // namespace test_deterministic_rest_cases
