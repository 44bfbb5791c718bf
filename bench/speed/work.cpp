// SPDX-License-Identifier: Apache-2.0
#include "work.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <random>

namespace bench {
namespace {

/// Never destroyed: threads of the libraries may run longer than main.
struct Tallies {
  std::mutex mutex;
  std::vector<Tally*> all;  // guarded by mutex
};

Tallies& tallies() {
  static Tallies* const made = new Tallies;
  return *made;
}

double measure_nanoseconds_per_tick() {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const std::uint64_t start_ticks = ticks();
  while (Clock::now() - start < std::chrono::milliseconds(50)) {
  }
  const auto end = Clock::now();
  const std::uint64_t end_ticks = ticks();
  return std::chrono::duration<double, std::nano>(end - start).count() / static_cast<double>(end_ticks - start_ticks);
}

}  // namespace

double nanoseconds_per_tick() {
  static const double measured = measure_nanoseconds_per_tick();
  return measured;
}

double clock_cost() {
  std::vector<std::uint64_t> apart(10001);
  for (std::uint64_t& one : apart) {
    const std::uint64_t start = ticks();
    one = ticks() - start;
  }
  std::nth_element(apart.begin(), apart.begin() + 5000, apart.end());
  return static_cast<double>(apart[5000]) * nanoseconds_per_tick();
}

void spin(double nanoseconds) {
  const std::uint64_t start = ticks();
  const auto length = static_cast<std::uint64_t>(nanoseconds / nanoseconds_per_tick());
  while (ticks() - start < length) pause();
}

Tally& new_tally() {
  Tally* const made = new Tally;
  const std::lock_guard lock(tallies().mutex);
  tallies().all.push_back(made);
  return *made;
}

std::uint64_t operations_run() {
  std::uint64_t sum = 0;
  const std::lock_guard lock(tallies().mutex);
  for (const Tally* one : tallies().all) sum += one->count.load(std::memory_order_relaxed);
  return sum;
}

void run_microsecond() noexcept {
  static const auto length = static_cast<std::uint64_t>(1000 / nanoseconds_per_tick());
  const std::uint64_t start = ticks();
  while (ticks() - start < length) {
  }
  run_empty();
}

void Gate::hold() noexcept {
  held_.store(true, std::memory_order_release);
  while (!open_.load(std::memory_order_acquire)) pause();
}

void Gate::wait_until_held() const noexcept {
  while (!held_.load(std::memory_order_acquire)) pause();
}

void Gate::reset() noexcept {
  held_.store(false);
  open_.store(false);
}

std::vector<Step> random_plan(std::uint32_t streams, std::uint32_t steps) {
  std::mt19937 random(1);
  std::vector<std::uint32_t> last(streams, Step::nothing);
  std::vector<Step> plan(steps);
  for (std::uint32_t i = 0; i < steps; ++i) {
    Step& step = plan[i];
    step.stream = static_cast<std::uint32_t>(random() % streams);
    step.previous = last[step.stream];
    step.other = static_cast<std::uint32_t>((step.stream + 1 + random() % (streams - 1)) % streams);
    if (random() % 4 == 0) step.after = last[step.other];
    last[step.stream] = i;
  }
  return plan;
}

bool OrderCheck::done(std::uint32_t step) const noexcept {
  return step == Step::nothing || done_[step].load(std::memory_order_acquire);
}

void OrderCheck::run(std::uint32_t step) noexcept {
  if (!done(plan_[step].previous) || !done(plan_[step].after)) ++violations_;
  if (done_[step].exchange(true, std::memory_order_release)) ++violations_;
  run_empty();
}

}  // namespace bench
