// SPDX-License-Identifier: Apache-2.0
//
// What the machine allows: the steps that the other rows are made of, by themselves.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "suite.h"

namespace bench {
namespace {

constexpr std::size_t together = 1000;

template <class Step>
void time_steps(benchmark::State& state, Step step) {
  BatchTimes times;
  for ([[maybe_unused]] auto _ : state) {
    const std::uint64_t start = ticks();
    for (std::size_t i = 0; i < together; ++i) step();
    times.add(state, ticks() - start);
  }
  times.report(state, together);
}

void locked(benchmark::State& state) {
  alignas(128) std::atomic<std::uint32_t> word{0};
  time_steps(state, [&] { word.exchange(1, std::memory_order_acq_rel); });
}

/// A word is set by one thread and answered by another: half of the time there and back.
template <class Wait, class Tell>
void to_and_fro(benchmark::State& state, Wait wait, Tell tell) {
  struct alignas(128) Word {
    std::atomic<std::uint32_t> value{0};
  } there, back;
  std::atomic<bool> ends{false};
  std::thread other([&] {
    for (std::uint32_t turn = 1;; ++turn) {
      wait(there.value, turn);
      const bool last = ends.load(std::memory_order_relaxed);
      tell(back.value, turn);
      if (last) return;
    }
  });
  std::uint32_t turn = 0;
  constexpr std::size_t turns = together / 10;
  const auto go = [&] {
    tell(there.value, ++turn);
    wait(back.value, turn);
  };
  BatchTimes times;
  for ([[maybe_unused]] auto _ : state) {
    const std::uint64_t start = ticks();
    for (std::size_t i = 0; i < turns; ++i) go();
    times.add(state, ticks() - start);
  }
  ends.store(true, std::memory_order_relaxed);
  go();
  other.join();
  times.report(state, 2 * turns);
}

void line(benchmark::State& state) {
  to_and_fro(
      state,
      [](const std::atomic<std::uint32_t>& word, std::uint32_t turn) {
        while (word.load(std::memory_order_acquire) != turn) pause();
      },
      [](std::atomic<std::uint32_t>& word, std::uint32_t turn) { word.store(turn, std::memory_order_release); });
}

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, nullptr, nullptr, 0);
}

void wake(benchmark::State& state) {
  to_and_fro(
      state,
      [](std::atomic<std::uint32_t>& word, std::uint32_t turn) {
        for (;;) {
          const std::uint32_t seen = word.load(std::memory_order_acquire);
          if (seen == turn) return;
          futex(word, FUTEX_WAIT_PRIVATE, seen);
        }
      },
      [](std::atomic<std::uint32_t>& word, std::uint32_t turn) {
        word.store(turn, std::memory_order_release);
        futex(word, FUTEX_WAKE_PRIVATE, 1);
      });
}

void system_call(benchmark::State& state) {
  time_steps(state, [] { syscall(SYS_getppid); });
}

void clock_reading(benchmark::State& state) {
  time_steps(state, [] { benchmark::DoNotOptimize(std::chrono::steady_clock::now()); });
}

}  // namespace

void add_limits(Suite& suite) {
  const std::pair<const char*, void (*)(benchmark::State&)> all[] = {{"limit_locked", locked},
                                                                     {"limit_line", line},
                                                                     {"limit_clock", clock_reading},
                                                                     {"limit_call", system_call},
                                                                     {"limit_wake", wake}};
  for (const auto& [name, run] : all) {
    suite.limit(benchmark::RegisterBenchmark((std::string(name) + "/machine").c_str(), run)->UseManualTime());
  }
}

}  // namespace bench
