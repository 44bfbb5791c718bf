// SPDX-License-Identifier: Apache-2.0
//
// A counter that only rises, and who waits for it. It is all that this backend knows of completion:
//   - each stream has one, which counts its completed commands;
//   - an event's record is a stream's timeline and the count at which the record is complete;
//   - a gate is one that goes from 0 to 1.
// A stream's timeline is never destroyed, and its value never falls, also when the stream's memory serves another
// stream (stream_pool.h): so a record needs no reference, and once it is complete it is complete for ever.
//
// Memory ordering. advance() stores the value, then reads the lowest target; a waiter publishes its target (under
// lock_), then reads the value. All four are sequentially consistent, so at least one side sees the other: no wake-up
// is lost, and completing a command that nobody waits for takes no lock. What was done before advance(n) is visible to
// whoever sees reached(n). docs/cpu_sim-engine.md has the argument, models/ checks it.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_TIMELINE_H
#define ANYPLACE_BACKENDS_CPU_SIM_TIMELINE_H

#include <anyplace/backend/thread_sanitizer.h>

#include <atomic>
#include <cstdint>

#include "clock.h"
#include "list.h"
#include "spin_lock.h"

namespace anyplace::cpu_sim {

class Stream;

/// Something that a timeline wakes once, when it reaches a target: a parked stream, a host thread, a kernel that is to
/// be released.
class Waiter {
 public:
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

 protected:
  Waiter() : link_(this) {}
  virtual ~Waiter() = default;

 private:
  friend class Timeline;
  /// Called once, without the timeline's lock; the waiter may be gone, or wait again, before it returns. A stream may
  /// be left in `next`, if there is none, for the caller to go on with.
  virtual void wake(Stream*& next) noexcept = 0;

  Link<Waiter> link_;    // guarded by the timeline's lock_
  uint64_t target_ = 0;  // likewise
};

class Timeline {
 public:
  /// `owner`: the stream whose commands it counts; null for a gate's.
  explicit Timeline(Stream* owner) noexcept : owner_(owner) {}
  Timeline(const Timeline&) = delete;  // waiters are in its list
  Timeline& operator=(const Timeline&) = delete;

  Stream* owner() const noexcept { return owner_; }
  bool reached(uint64_t target) const noexcept {
    if (value_.load(std::memory_order_acquire) < target) return false;
    backend::acquire_from_sanitizer(this);
    return true;
  }
  uint64_t value() const noexcept { return value_.load(std::memory_order_acquire); }

  /// Raises the value and wakes who waited for it, but for one stream that is left in `next`, if that was null: it is
  /// the caller's to run or to ready. By one thread at a time.
  void advance(uint64_t value, Stream*& next) noexcept {
    backend::release_to_sanitizer(this);
    value_.store(value, std::memory_order_seq_cst);
    if (lowest_target_.load(std::memory_order_seq_cst) <= value) [[unlikely]]
      wake_reached(value, next);
  }

  /// Has `waiter` woken when the value reaches `target`; false, and nothing is kept, if it is there already. After true
  /// the waiter may have been woken already. The caller keeps the timeline alive until then.
  bool park(Waiter& waiter, uint64_t target) noexcept;

  /// Blocks this thread until the value reaches `target`; false when time ran out first.
  bool wait(uint64_t target, const Deadline& deadline) noexcept;

 private:
  void wake_reached(uint64_t value, Stream*& next) noexcept;
  void insert(Waiter& waiter) noexcept;
  uint64_t lowest() noexcept;
  bool withdraw(Waiter& waiter) noexcept;

  std::atomic<uint64_t> value_{0};
  std::atomic<uint64_t> lowest_target_{UINT64_MAX};  // of waiters_; written under lock_
  Stream* const owner_;
  SpinLock lock_;
  List<Waiter> waiters_;  // guarded by lock_; by rising target, first come first within one
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_TIMELINE_H
