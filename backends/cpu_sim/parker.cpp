// SPDX-License-Identifier: Apache-2.0
#include "parker.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace anyplace::cpu_sim {
namespace {

// std::atomic<uint32_t> is its value, and nothing else: what the system looks at.
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kLongest = 3600 * kSecond;  // a longer wait is made of several

void sleep_while(std::atomic<uint32_t>& word, uint32_t value, const timespec* timeout) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, timeout, nullptr, 0);
}

}  // namespace

/// Nobody can be asleep there but the thread whose object it was. If that is gone, the address may be another's: that
/// one looks, and sleeps on.
void Parker::wake(std::atomic<uint32_t>* state) noexcept {
  syscall(SYS_futex, state, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

/// False if the token is there, which is then taken.
bool Parker::fall_asleep() noexcept {
  uint32_t nothing = kNothing;
  if (state_.compare_exchange_strong(nothing, kAsleep, std::memory_order_acq_rel, std::memory_order_acquire))
    return true;
  state_.store(kNothing, std::memory_order_relaxed);
  return false;
}

/// Whether the token was there.
bool Parker::wake_up() noexcept { return state_.exchange(kNothing, std::memory_order_acq_rel) == kToken; }

bool Parker::park(const Deadline& deadline) noexcept {
  if (take()) return true;
  for (;;) {
    const int64_t left = deadline.left_ns();
    if (left <= 0) return take();
    if (!fall_asleep()) return true;
    const int64_t some = std::min(left, kLongest);
    const timespec timeout{some / kSecond, some % kSecond};
    sleep_while(state_, kAsleep, deadline.forever() ? nullptr : &timeout);
    if (wake_up()) return true;
  }
}

bool Parker::park_for(int64_t ns) noexcept {
  if (take() || !fall_asleep()) return true;
  const timespec timeout{ns / kSecond, ns % kSecond};
  sleep_while(state_, kAsleep, &timeout);
  return wake_up();
}

}  // namespace anyplace::cpu_sim
