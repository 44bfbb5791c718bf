// SPDX-License-Identifier: Apache-2.0
//
// A Timeline is a counter that only rises, with its waiters. Everything in this backend that completes is a timeline:
//   - each stream has one, which counts its completed commands;
//   - an event's record is a stream's timeline and the count at which the record is complete;
//   - a gate is one that goes from 0 to 1.
// A stream's timeline is never destroyed, and its value never falls, also when the stream's memory serves another
// stream (stream_pool.h): so a record needs no reference, and once it is complete it is complete for ever.
//
// This is the memory ordering: advance() stores the value, then reads the lowest target; a waiter publishes its target
// (under lock_), then reads the value. All four are sequentially consistent, so at least one side sees the other: no
// wake-up is lost, and completing a command that nobody waits for takes no lock. What was done before advance(n) is
// visible to a thread that sees reached(n). docs/cpu_sim-engine.md has the argument, models/ checks it.
#pragma once

#include <anyplace/backend/thread_sanitizer.h>

#include <atomic>
#include <cstdint>

#include "clock.h"
#include "list.h"
#include "spin_lock.h"

namespace anyplace::cpu_sim {

class Stream;

/// A timeline wakes a Waiter once, when it reaches a target: a parked stream, a host thread or a graph's wait.
class Waiter {
 public:
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

 protected:
  Waiter() : link_(this) {}
  virtual ~Waiter() = default;

 private:
  friend class Timeline;
  /// It is called once, without the timeline's lock. The waiter may be destroyed, or wait again, before it returns. If
  /// `next` is null, it may put a stream there, which the caller then runs or readies.
  virtual void wake(Stream*& next) noexcept = 0;

  Link<Waiter> link_;         // The timeline's lock_ guards it.
  std::uint64_t target_ = 0;  // The timeline's lock_ guards it.
};

class Timeline {
 public:
  /// `owner` is the stream whose commands it counts; null for a gate.
  explicit Timeline(Stream* owner) noexcept : owner_(owner) {}
  Timeline(const Timeline&) = delete;  // Waiters are in its list.
  Timeline& operator=(const Timeline&) = delete;

  Stream* owner() const noexcept { return owner_; }
  bool reached(std::uint64_t target) const noexcept {
    if (value_.load(std::memory_order_acquire) < target) return false;
    backend::acquire_from_sanitizer(this);
    return true;
  }
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_acquire); }

  /// Raises the value and wakes the waiters whose targets it reaches. If `next` is null, one woken stream is put there
  /// instead, which the caller runs or readies. One thread at a time calls it.
  void advance(std::uint64_t value, Stream*& next) noexcept {
    backend::release_to_sanitizer(this);
    value_.store(value, std::memory_order_seq_cst);
    if (lowest_target_.load(std::memory_order_seq_cst) <= value) [[unlikely]]
      wake_reached(value, next);
  }

  /// Has `waiter` woken when the value reaches `target`. Returns false, and keeps nothing, if it has been reached. When
  /// it returns true, the waiter may have been woken already. The caller keeps the timeline alive until the waiter is
  /// woken.
  bool park(Waiter& waiter, std::uint64_t target) noexcept;

  /// Blocks this thread until the value reaches `target`. Returns false when time ran out first.
  bool wait(std::uint64_t target, const Deadline& deadline) noexcept;

 private:
  void wake_reached(std::uint64_t value, Stream*& next) noexcept;
  void insert(Waiter& waiter) noexcept;
  std::uint64_t lowest() noexcept;
  bool withdraw(Waiter& waiter) noexcept;

  std::atomic<std::uint64_t> value_{0};
  std::atomic<std::uint64_t> lowest_target_{
      UINT64_MAX};  // It is the lowest target in waiters_, and is written under lock_.
  Stream* const owner_;
  SpinLock lock_;
  List<Waiter> waiters_;  // lock_ guards it; targets rise, and equal ones are in the order of their coming.
};

}  // namespace anyplace::cpu_sim
