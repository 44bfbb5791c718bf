// SPDX-License-Identifier: Apache-2.0
//
// Event: has the signal of its most recent record. A ze_event is signalled once and reset by hand. So each record takes
// a fresh one, and waits for an earlier record keep the earlier one.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "anyplace/backend/abi.h"
#include "shared_event.h"
#include "signal.h"

namespace anyplace::levelzero {

class Device;
class Stream;

class Event {
 public:
  /// `flags` are ANYPLACE_EVENT_*.
  Event(Device& device, std::uint32_t flags);
  /// Another process's.
  Event(Device& device, std::unique_ptr<SharedEvent> shared);
  Event(const Event&) = delete;  // handles point at it
  Event& operator=(const Event&) = delete;

  void record(Stream& stream);
  /// Makes the stream's later work wait for the most recent record.
  void hold_back(Stream& stream) const;
  void export_to(anyplace_ipc_handle& out) const;
  /// The signal of this process's most recent record. Null if there was none, or if the stream had no work.
  SignalRef signal() const;
  bool query() const;
  /// False when time ran out.
  bool synchronize(std::uint64_t timeout_ns) const;
  /// That of a record; null if there was none.
  SignalRef recorded() const;
  /// Both events have timing and are complete.
  double milliseconds_to(const Event& end) const;
  /// The ze_event of the most recent record, good until the next one.
  ze_event_handle_t native();

 private:
  Device& device_;
  const bool timing_;
  /// The most recent record, if another process made it.
  std::optional<SharedRecord> foreign_record() const;

  const std::unique_ptr<SharedEvent> shared_;  ///< of an interprocess event
  mutable std::mutex mutex_;  // guards the rest and the order of records; the stream's mutexes are taken under it
  SignalRef signal_;
  SharedRecord own_record_;  ///< what other processes see of signal_
  bool stands_in_ = false;   ///< signal_ is none of a record, and has no time
};

}  // namespace anyplace::levelzero
