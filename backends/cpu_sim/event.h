// SPDX-License-Identifier: Apache-2.0
//
// Events. Each record is a value that never changes: a stream's timeline and a number on it. A wait copies the most
// recent record at the call, so recording the event again, or destroying it, affects no earlier wait.
#pragma once

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
  Event(std::uint64_t id, std::uint32_t flags);

  std::uint64_t id() const noexcept { return id_; }
  bool timing() const noexcept { return (flags_ & ANYPLACE_EVENT_TIMING) != 0; }

  void record(Stream& stream);
  /// The most recent record. It stays valid after the event's end.
  Record latest() const noexcept { return latest_.read(); }

  /// The most recent record and its time stamp, for an event with timing. Null if it was never recorded.
  struct Stamped {
    Record record;
    Ref<Stamp> stamp;
  };
  Stamped latest_stamped() const;

 private:
  void record_stamped(Stream& stream);

  RecordCell latest_;  // written under lock_
  mutable SpinLock lock_;
  const std::uint64_t id_;
  const std::uint32_t flags_;
  Ref<Stamp> stamp_;  // guarded by lock_; the stamp of latest_, only with timing
};

/// Milliseconds from one record to another. Throws Failure(TIMING_DISABLED), (NOT_RECORDED) or (NOT_READY).
double elapsed_ms(const Event& start, const Event& end);

}  // namespace anyplace::cpu_sim
