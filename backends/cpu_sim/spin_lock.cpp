// SPDX-License-Identifier: Apache-2.0
#include "spin_lock.h"

#include <sched.h>
#include <time.h>

namespace anyplace::cpu_sim {
namespace {

constexpr int kSpins = 100;   // rests before the core is given away
constexpr int kYields = 100;  // times it is given away before sleeping

}  // namespace

void Backoff::rest() noexcept {
  if (rests_ < kSpins) {
    ++rests_;
    pause_briefly();
  } else if (rests_ < kSpins + kYields) {
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
