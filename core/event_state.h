// SPDX-License-Identifier: Apache-2.0
//
// EventState: what an event handle leads to; and the operations on events that other parts of the core use too (memory
// is freed behind events). All take care of held streams (hold.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "stream_state.h"

namespace anyplace::detail {

struct HeldRecord;

struct EventState {
  static constexpr HandleKind handle_kind = HandleKind::event;

  DeviceState* device = nullptr;
  anyplace_event handle = 0;
  std::uint64_t id = 0;  ///< 0 for the core's own events, which have no handle
  std::uint32_t flags = 0;
  std::atomic<bool> recorded{false};

  /// The most recent record if it was made on a held stream, else null; it then has a backend's event of its own, and
  /// `handle` has nothing to say. Guarded by holds().mutex; record_is_held is set with it, for the path without a lock.
  std::shared_ptr<HeldRecord> held_record;
  std::atomic<bool> record_is_held{false};

  EventState();
  EventState(const EventState&) = delete;  // it owns the backend's event
  EventState& operator=(const EventState&) = delete;
  ~EventState();  ///< destroys the backend's event; inside a callback, the service thread does
  static void dispose(EventState* event) noexcept;
};

/// An event's most recent record, taken now: later ones don't change it.
struct Record {
  DeviceState* device = nullptr;
  anyplace_event handle = 0;
  std::shared_ptr<HeldRecord> held;  ///< keeps `handle` alive; null if the event does
};

extern constinit Everlasting<SlotTable<EventState>> event_table;
inline SlotTable<EventState>& events() noexcept { return event_table.value; }

/// An event without a handle. flags are ANYPLACE_EVENT_*. Throws.
std::unique_ptr<EventState> make_event(DeviceState& device, std::uint32_t flags, const char* operation);
/// Ends a backend's event, wherever the calling thread is.
void destroy_event(DeviceState& device, anyplace_event handle) noexcept;

/// Throws invalid_argument, naming both places, if the stream is not of the event's device.
void record(EventState& event, StreamState& stream, const char* operation);
Record most_recent_record(EventState& event);
bool query(EventState& event, const char* operation);
/// timeout_ns may be ANYPLACE_FOREVER. False when it ran out.
bool synchronize(EventState& event, std::uint64_t timeout_ns, const char* operation);
/// Any device, any backend.
void wait(StreamState& stream, EventState& event, const char* operation);

}  // namespace anyplace::detail
