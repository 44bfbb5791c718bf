// SPDX-License-Identifier: Apache-2.0
//
// Events. Each record of one is a value of its own, a place in a stream's timeline, and never changes: a wait takes the
// most recent one at the call, so recording again, or destroying the event, moves no earlier wait.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_EVENT_H
#define ANYPLACE_BACKENDS_CPU_SIM_EVENT_H

#include <anyplace/backend/abi.h>

#include <cstdint>
#include <mutex>

#include "ref.h"
#include "timeline.h"
#include "wait.h"

namespace anyplace::cpu_sim {

class Stream;

/// Where an event was recorded, or nowhere.
struct EventRecord {
  Ref<Timeline> timeline;  // null: never recorded
  uint64_t target = 0;
  Ref<Stamp> stamp;  // only with timing

  bool complete() const noexcept { return !timeline || timeline->reached(target); }
};

class Event {
 public:
  /// Throws Failure(UNSUPPORTED) for an interprocess event, INVALID_ARGUMENT for flags that don't exist.
  Event(uint64_t id, uint32_t flags);

  uint64_t id() const noexcept { return id_; }
  bool timing() const noexcept { return (flags_ & ANYPLACE_EVENT_TIMING) != 0; }

  void record(Stream& stream);
  /// The most recent record. It outlives the event.
  EventRecord latest() const;

 private:
  const uint64_t id_;
  const uint32_t flags_;
  mutable std::mutex mutex_;
  EventRecord latest_;  // guarded by mutex_
};

/// Milliseconds from one record to another. Throws Failure(TIMING_DISABLED), (NOT_RECORDED) or (NOT_READY).
double elapsed_ms(const Event& start, const Event& end);

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_EVENT_H
