// SPDX-License-Identifier: Apache-2.0
#include "spin_lock.h"

#include <sched.h>
#include <time.h>

namespace anyplace::cpu_sim {
namespace {

constexpr int kSpins = 100;     // looks before the core is given away
constexpr int kYields = 10000;  // times it is given away before sleeping: for holders that a scheduler never prefers

}  // namespace

void SpinLock::lock_slowly() noexcept {
  int yields = 0;
  do {
    for (int spins = 0; taken_.load(std::memory_order_relaxed); ++spins) {
      if (spins < kSpins) {
        pause_briefly();
      } else if (yields < kYields) {
        ++yields;
        sched_yield();
      } else {
        const timespec while_{0, 50'000};
        nanosleep(&while_, nullptr);
      }
    }
  } while (taken_.exchange(true, std::memory_order_acquire));
}

}  // namespace anyplace::cpu_sim
