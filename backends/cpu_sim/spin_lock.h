// SPDX-License-Identifier: Apache-2.0
//
// The lock of what is held for a few instructions and taken millions of times a second: one locked instruction to take
// it, a plain store to let go. A thread that doesn't get it spins for a while, then gives its core away, so that a
// holder that lost its own gets it back.
//
// Nothing that can block, and no code of the user's, runs under it.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_SPIN_LOCK_H
#define ANYPLACE_BACKENDS_CPU_SIM_SPIN_LOCK_H

#include <atomic>

namespace anyplace::cpu_sim {

/// A moment's rest in a loop that looks at memory.
inline void pause_briefly() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

/// Rests longer and longer, for a loop that looks whether another thread has gone on: first the core is kept, then
/// given to whoever wants it, then left for a while, which lets also a thread on that a scheduler prefers to none.
class Backoff {
 public:
  void rest() noexcept;

 private:
  int rests_ = 0;
};

/// Meets the standard's Lockable.
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

#endif  // ANYPLACE_BACKENDS_CPU_SIM_SPIN_LOCK_H
