// SPDX-License-Identifier: Apache-2.0
//
// How the deterministic mode lets the process come to rest (docs/cpu_sim-deterministic.md): which threads and
// operations it waits for before a call and before a choice. The hidden cases at the end are the programs.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include <pthread.h>

#include "plugin.h"
#include "scheduled.h"

namespace test_deterministic_rest_cases {

using namespace cpu_sim_test;

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

}  // namespace test_deterministic_rest_cases
