// SPDX-License-Identifier: Apache-2.0
//
// EventState: what an event handle leads to; and the operations on events that other parts of the core use too (memory is
// freed behind events). All take care of held streams (hold.cpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "stream_state.h"

namespace anyplace::detail {

/// A record that is still queued in a held stream. Defined in hold.h.
struct HeldRecord;

struct EventState {
  DeviceState* device = nullptr;
  anyplace_event handle = 0;
  std::uint64_t id = 0;  ///< 0 for the core's own events, which have no handle
  std::uint32_t flags = 0;
  std::atomic<bool> recorded{false};

  /// The most recent record, if it was made on a stream that was held then and hasn't reached the backend; else null.
  std::atomic<bool> record_is_held{false};
  std::mutex held_mutex;  // guards held_record; no other lock is taken under it
  std::shared_ptr<HeldRecord> held_record;

  EventState();
  ~EventState();  ///< destroys the backend's event
  /// Deletes it; inside a callback, the service thread does.
  static void dispose(EventState* event) noexcept;
};

SlotTable<EventState>& events() noexcept;

/// An event without a handle. flags are ANYPLACE_EVENT_*. Throws.
std::unique_ptr<EventState> make_event(DeviceState& device, std::uint32_t flags, const char* operation);
/// The stream is of the event's device (checked: invalid_argument).
void record(EventState& event, StreamState& stream, const char* operation);
bool query(EventState& event, const char* operation);
/// timeout_ns may be ANYPLACE_FOREVER. False when it ran out.
bool synchronize(EventState& event, std::uint64_t timeout_ns, const char* operation);
/// Any device, any backend.
void wait(StreamState& stream, EventState& event, const char* operation);

}  // namespace anyplace::detail
