// SPDX-License-Identifier: Apache-2.0
//
// A counter that only rises, and who waits for it. It is all that this backend knows of completion:
//   - each stream has one, which counts its completed commands;
//   - an event's record is a stream's timeline and the count at which the record is complete;
//   - a gate is one that goes from 0 to 1.
// It outlives its stream for as long as a record or a queued wait needs it.
//
// Memory ordering. advance() stores the value, then reads the lowest target; a waiter publishes its target (under
// mutex_), then reads the value. All four are sequentially consistent, so at least one side sees the other: no wake-up
// is lost, and completing a command that nobody waits for takes no lock. What was done before advance(n) is visible to
// whoever sees reached(n).
#ifndef ANYPLACE_BACKENDS_CPU_SIM_TIMELINE_H
#define ANYPLACE_BACKENDS_CPU_SIM_TIMELINE_H

#include <atomic>
#include <cstdint>
#include <mutex>

#include "clock.h"
#include "list.h"
#include "ref.h"

namespace anyplace::cpu_sim {

/// Something that a timeline wakes once, when it reaches a target: a parked stream.
class Waiter {
 public:
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  virtual ~Waiter() = default;

 protected:
  Waiter() : link_(this) {}

 private:
  friend class Timeline;
  /// Called once, without the timeline's lock; the waiter may be gone, or park again, before it returns.
  virtual void wake() noexcept = 0;
  /// True for a waiter that is to be woken under the timeline's lock, because it may go away once it is unlinked.
  virtual bool wake_under_lock() noexcept { return false; }

  Link<Waiter> link_;    // guarded by the timeline's mutex_
  uint64_t target_ = 0;  // likewise
};

class Timeline final : public RefCounted<Timeline> {
 public:
  Timeline() = default;

  bool reached(uint64_t target) const noexcept { return value_.load(std::memory_order_seq_cst) >= target; }
  uint64_t value() const noexcept { return value_.load(std::memory_order_seq_cst); }

  /// Raises the value and wakes who waited for it. By one thread at a time.
  void advance(uint64_t value) noexcept;

  /// Has `waiter` woken when the value reaches `target`; false, and nothing is kept, if it is there already. After true
  /// the waiter may have been woken already. The caller keeps the timeline alive until then.
  bool park(Waiter& waiter, uint64_t target) noexcept;

  /// Blocks this thread until the value reaches `target`; false when time ran out first.
  bool wait(uint64_t target, const Deadline& deadline);

 private:
  friend class RefCounted<Timeline>;
  ~Timeline() = default;

  void insert(Waiter& waiter) noexcept;
  void publish_lowest() noexcept;

  std::atomic<uint64_t> value_{0};
  std::atomic<uint64_t> lowest_target_{UINT64_MAX};  // of waiters_; written under mutex_
  std::mutex mutex_;
  List<Waiter> waiters_;  // guarded by mutex_; by rising target, first come first within one
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_TIMELINE_H
