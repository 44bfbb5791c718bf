// SPDX-License-Identifier: Apache-2.0
//
// Event: keeps the signal of its most recent record. A ze_event is signalled once and reset by hand, so each record
// takes a fresh one, and waits for an earlier record keep the earlier one.
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
  /// An event of another process.
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
  /// Returns false when time ran out.
  bool synchronize(std::uint64_t timeout_ns) const;
  /// The signal of the most recent record, whichever process made it; null if there was none.
  SignalRef recorded() const;
  /// Both events have timing and are complete.
  double milliseconds_to(const Event& end) const;
  /// The ze_event of the most recent record, good until the next one.
  ze_event_handle_t hand_out();
  void destroy() const noexcept {}  ///< the destructor does all, and none of it fails

 private:
  Device& device_;
  const bool timing_;
  /// The most recent record, if another process made it.
  std::optional<SharedRecord> foreign_record() const;

  const std::unique_ptr<SharedEvent> shared_;  ///< null unless the event is an interprocess event
  mutable std::mutex mutex_;  // guards the rest and the order of records; the stream's mutexes are taken under it
  SignalRef signal_;
  SharedRecord own_record_;  ///< the record that other processes see for signal_
  bool stands_in_ = false;   ///< signal_ stands for no record and has no time
};

}  // namespace anyplace::levelzero
