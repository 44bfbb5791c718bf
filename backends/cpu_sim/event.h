// SPDX-License-Identifier: Apache-2.0
//
// Events. Each record of one is a value of its own, a place in a stream's timeline, and never changes: a wait takes the
// most recent one at the call, so recording again, or destroying the event, moves no earlier wait.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_EVENT_H
#define ANYPLACE_BACKENDS_CPU_SIM_EVENT_H

#include <anyplace/backend/abi.h>

#include <cstdint>

#include "record.h"
#include "ref.h"
#include "spin_lock.h"
#include "wait.h"

namespace anyplace::cpu_sim {

class Stream;

class Event {
 public:
  /// Throws Failure(UNSUPPORTED) for an interprocess event, INVALID_ARGUMENT for flags that don't exist.
  Event(uint64_t id, uint32_t flags);

  uint64_t id() const noexcept { return id_; }
  bool timing() const noexcept { return (flags_ & ANYPLACE_EVENT_TIMING) != 0; }

  void record(Stream& stream);
  /// The most recent record. It outlives the event.
  Record latest() const noexcept { return latest_.read(); }

  /// With what it was stamped; null if it was never recorded. For an event with timing.
  struct Stamped {
    Record record;
    Ref<Stamp> stamp;
  };
  Stamped latest_stamped() const;

 private:
  void record_stamped(Stream& stream);

  RecordCell latest_;  // written under lock_
  mutable SpinLock lock_;
  const uint64_t id_;
  const uint32_t flags_;
  Ref<Stamp> stamp_;  // guarded by lock_; of latest_, only with timing
};

/// Milliseconds from one record to another. Throws Failure(TIMING_DISABLED), (NOT_RECORDED) or (NOT_READY).
double elapsed_ms(const Event& start, const Event& end);

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_EVENT_H
