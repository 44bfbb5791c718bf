// SPDX-License-Identifier: Apache-2.0
#include "parker.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace anyplace::cpu_sim {
namespace {

// The futex call reads the atomic's memory, so the atomic must consist of its value alone.
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
              std::atomic<std::uint32_t>::is_always_lock_free);

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t longest = 3600 * second;  // A longer wait is made of several sleeps.

void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value, const timespec* timeout) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, timeout, nullptr, 0);
}

}  // namespace

/// Wakes the owner of `state`. The Parker may be gone already and its memory used for another one. That one's owner
/// then wakes for no reason, looks, and sleeps again.
void Parker::wake(std::atomic<std::uint32_t>* state) noexcept {
  syscall(SYS_futex, state, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

/// Marks the thread as asleep. If the token is there, takes it and returns false instead.
bool Parker::fall_asleep() noexcept {
  std::uint32_t expected = nothing;
  if (state_.compare_exchange_strong(expected, asleep, std::memory_order_acq_rel, std::memory_order_acquire))
    return true;
  state_.store(nothing, std::memory_order_relaxed);
  return false;
}

/// Marks the thread as awake and takes the token. Returns whether it was there.
bool Parker::wake_up() noexcept { return state_.exchange(nothing, std::memory_order_acq_rel) == token_set; }

bool Parker::park(const Deadline& deadline) noexcept {
  if (take()) return true;
  for (;;) {
    const std::int64_t left = deadline.left_ns();
    if (left <= 0) return take();
    if (!fall_asleep()) return true;
    const std::int64_t some = std::min(left, longest);
    const timespec timeout{some / second, some % second};
    sleep_while(state_, asleep, deadline.forever() ? nullptr : &timeout);
    if (wake_up()) return true;
  }
}

bool Parker::park_for(std::int64_t ns) noexcept {
  if (take() || !fall_asleep()) return true;
  const timespec timeout{ns / second, ns % second};
  sleep_while(state_, asleep, &timeout);
  return wake_up();
}

}  // namespace anyplace::cpu_sim
