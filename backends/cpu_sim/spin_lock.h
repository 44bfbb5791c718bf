// SPDX-License-Identifier: Apache-2.0
//
// A SpinLock is held for a few instructions and taken millions of times a second. Taking it is one locked
// instruction, releasing it a plain store. A thread that doesn't get it spins for a while and then yields its core, so
// that a holder that was preempted can go on.
//
// Nothing that can block, and no code of the user's, runs under it.
#pragma once

#include <atomic>

namespace anyplace::cpu_sim {

/// Pauses shortly in a loop that reads memory.
inline void pause_briefly() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

/// A loop that waits for another thread makes longer and longer pauses: first it spins, then it yields the core, then
/// it sleeps for a while, so that also a thread of low priority gets to run.
class Backoff {
 public:
  void rest() noexcept;

 private:
  int rests_ = 0;
};

/// It meets the standard's Lockable.
class SpinLock {
 public:
  SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  void lock() noexcept {
    if (taken_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      lock_slowly();
  }
  bool try_lock() noexcept { return !taken_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  void lock_slowly() noexcept;

  std::atomic<bool> taken_{false};
};

}  // namespace anyplace::cpu_sim
