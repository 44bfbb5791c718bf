// SPDX-License-Identifier: Apache-2.0
//
// Event: the signal of its most recent record. Level Zero's own events are signalled once and reset by hand; so each
// record takes a fresh one, and what waits for an earlier record keeps that one.
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
  /// Of the most recent record; null: there was none, or it was of a stream without work.
  SignalRef signal() const;
  bool query() const;
  /// False when time ran out.
  bool synchronize(std::uint64_t timeout_ns) const;
  /// Both have timing and are complete.
  double milliseconds_to(const Event& end) const;
  /// The ze_event of the most recent record, good until the next one.
  ze_event_handle_t native();

 private:
  Device& device_;
  const bool timing_;
  mutable std::mutex mutex_;  // guards signal_, and the order of records; the stream's are taken under it
  SignalRef signal_;
};

}  // namespace anyplace::levelzero
