// SPDX-License-Identifier: Apache-2.0
#include "spin_lock.h"

#include <sched.h>
#include <time.h>

namespace anyplace::cpu_sim {
namespace {

constexpr int spins = 100;   // The thread pauses so often before it yields its core.
constexpr int yields = 100;  // It yields so often before it sleeps.

}  // namespace

void Backoff::rest() noexcept {
  if (rests_ < spins) {
    ++rests_;
    pause_briefly();
  } else if (rests_ < spins + yields) {
    ++rests_;
    sched_yield();
  } else {
    const timespec a_while{0, 50'000};
    nanosleep(&a_while, nullptr);
  }
}

void SpinLock::lock_slowly() noexcept {
  Backoff backoff;
  do {
    while (taken_.load(std::memory_order_relaxed)) backoff.rest();
  } while (taken_.exchange(true, std::memory_order_acquire));
}

}  // namespace anyplace::cpu_sim
