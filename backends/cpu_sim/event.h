// SPDX-License-Identifier: Apache-2.0
//
// Each record of an event is a value that never changes: a stream's timeline and a number on it. A wait copies the most
// recent record at the call, so recording the event again, or destroying it, affects no earlier wait. An interprocess
// event's most recent record may be another process's (shared_event.h); where it is this one's, it is waited for as
// any other event's.
#pragma once

#include <anyplace/backend/abi.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "record.h"
#include "ref.h"
#include "shared_event.h"
#include "spin_lock.h"
#include "wait.h"

namespace anyplace::cpu_sim {

class Stream;

class Event {
 public:
  /// Throws Failure(INVALID_ARGUMENT) for flags that don't exist, and as SharedEvent::make for an interprocess event.
  Event(std::int32_t device, std::uint64_t id, std::uint32_t flags);
  /// Makes another process's event.
  Event(std::int32_t device, std::uint64_t id, std::unique_ptr<SharedEvent> shared) noexcept;

  std::int32_t device() const noexcept { return device_; }
  std::uint64_t id() const noexcept { return id_; }
  bool timing() const noexcept { return (flags_ & ANYPLACE_EVENT_TIMING) != 0; }

  void record(Stream& stream);
  /// Makes this the most recent record, with its time stamp if the event has timing. A graph's launch, which
  /// submits the record itself, calls it.
  void set_latest(const Record& record, Ref<Stamp> stamp) noexcept;
  /// Returns the most recent record of this process. It stays valid after the event's end.
  Record latest() const noexcept { return latest_.read(); }

  /// Returns what an interprocess event has beside; null for others.
  const SharedEvent* shared() const noexcept { return shared_.get(); }
  /// Returns the most recent record of an interprocess event, if it isn't latest().
  std::optional<SharedRecord> latest_elsewhere() const noexcept;
  /// Returns whether a host that synchronises with an interprocess event polls for a while before it sleeps.
  bool spins() const noexcept { return (flags_ & ANYPLACE_EVENT_BLOCKING_SYNC) == 0; }

  /// Stamped is the most recent record of an event with timing and its time stamp, which is null if it was never
  /// recorded.
  struct Stamped {
    Record record;
    Ref<Stamp> stamp;
  };
  Stamped latest_stamped() const;

 private:
  friend class NativeEvents;
  void record_stamped(Stream& stream);
  Ref<Stamp> unused_stamp();
  void record_shared(Stream& stream);

  RecordCell latest_;  // It is written under lock_.
  mutable SpinLock lock_;
  const std::uint64_t id_;
  const std::uint32_t flags_;
  const std::int32_t device_;
  std::uint32_t handles_ = 0;          // It doesn't count the first; the mutex of NativeEvents guards it.
  std::atomic<bool> is_known_{false};  // It says whether NativeEvents knows the event.
  Ref<Stamp> stamp_;                   // lock_ guards it; it is the stamp of latest_, if the event has timing.
  Ref<Stamp> spare_stamp_;             // lock_ guards it; an earlier record's, kept for the next one.
  const std::unique_ptr<SharedEvent> shared_;
  SharedRecord shared_record_;  // lock_ guards it; other processes see this of latest_.
};

/// NativeEvents has the events whose native numbers were asked for, which is rare. Each further handle is the event
/// itself, counted: the event ends with its last handle.
class NativeEvents {
 public:
  std::uint64_t number_of(Event& event);
  /// Adds a handle. Throws Failure(INVALID_ARGUMENT) for a number that isn't, or is no longer, an event of that device.
  Event& add_handle(std::int32_t device, std::uint64_t number);
  /// Ends a handle and, with the last one, the event.
  void drop_handle(Event* event) noexcept {
    if (event->is_known_.load(std::memory_order_relaxed) && !forget(*event)) return;
    delete event;
  }

 private:
  /// Returns false if it has another handle.
  bool forget(Event& event) noexcept;

  std::mutex mutex_;
  std::map<std::uint64_t, Event*> events_;  // mutex_ guards it.
};

/// Returns when the most recent record completed, as now_ns() tells it. Throws as elapsed_ms().
std::uint64_t timestamp_ns(const Event& event);

/// Returns the milliseconds from one record to another. Throws Failure(TIMING_DISABLED), (NOT_RECORDED) or (NOT_READY).
double elapsed_ms(const Event& start, const Event& end);

}  // namespace anyplace::cpu_sim
