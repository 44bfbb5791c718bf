// SPDX-License-Identifier: Apache-2.0
//
// Event: has the signal of its most recent record. A ze_event is signalled once and reset by hand. So each record takes
// a fresh one, and waits for an earlier record keep the earlier one.
#pragma once

#include <cstdint>
#include <mutex>

#include "anyplace/backend/abi.h"
#include "signal.h"

namespace anyplace::levelzero {

class Device;
class Stream;

class Event {
 public:
  /// `flags` are ANYPLACE_EVENT_*.
  Event(Device& device, std::uint32_t flags);
  Event(const Event&) = delete;  // handles point at it
  Event& operator=(const Event&) = delete;

  void record(Stream& stream);
  /// The signal of the most recent record. Null if there was none, or if the stream had no work.
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
  mutable std::mutex mutex_;  // guards signal_ and the order of records; the stream's mutexes are taken under it
  SignalRef signal_;
  bool stands_in_ = false;  ///< signal_ is none of a record, and has no time
};

}  // namespace anyplace::levelzero
