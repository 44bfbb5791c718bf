// SPDX-License-Identifier: Apache-2.0
//
// EventState: the object of an event's handle, and the operations on events. Other rooms use these operations too
// (memory is freed behind events). All of them handle held streams (hold.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "handles/use.h"
#include "streams/stream_state.h"

namespace anyplace::detail {

struct EventSharing;
struct HeldRecord;

/// Why calls with an event's handle take the slow path: bits.
enum CareForEvent : std::uint32_t { care_for_held_record = 1, care_for_captured_record = 2 };
/// Deletes the EventSharing (event_sharing.h) of an event that other processes have too.
struct EndEventSharing {
  void operator()(EventSharing* sharing) const noexcept;
};

struct EventState {
  static constexpr HandleKind handle_kind = HandleKind::event;

  DeviceState* device = nullptr;
  anyplace_event handle = 0;
  std::uint64_t id = 0;  ///< 0 for the core's own events, which have no handle
  std::uint32_t flags = 0;
  std::atomic<bool> recorded{false};
  /// The native handle was given out: another library may have recorded it, which only the backend knows.
  std::atomic<bool> handed_out{false};

  /// The most recent record if it was made on a held stream, else null. Such a record has a backend's event of its own,
  /// and `handle` isn't used. Guarded by holds().mutex. record_is_held is set with it and can be read without the lock.
  std::shared_ptr<HeldRecord> held_record;
  std::atomic<bool> record_is_held{false};

  /// The capture on whose stream the most recent record was made, else null, and the nodes that it comes after. Guarded
  /// by captures().mutex. record_is_captured is set with it and can be read without the lock.
  std::shared_ptr<Capture> capture;
  std::vector<std::uint32_t> front;
  std::atomic<bool> record_is_captured{false};

  std::atomic<std::uint32_t> care_for{0};  ///< CareForEvent, kept with the slot's flag by set_careful_for()
  /// Null until the event is exported, unless it was imported. Written once, under a lock of event_sharing.cpp.
  std::unique_ptr<EventSharing, EndEventSharing> sharing;

  EventState();
  EventState(const EventState&) = delete;  // it owns the backend's event
  EventState& operator=(const EventState&) = delete;
  ~EventState();  ///< destroys the backend's event; inside a callback, the service thread does
  static void dispose(EventState* event) noexcept;
};

/// A copy of an event's most recent record: later records don't change it.
struct Record {
  DeviceState* device = nullptr;
  anyplace_event handle = 0;
  std::shared_ptr<HeldRecord> held;  ///< keeps `handle` alive; null if the event does
};

extern constinit NoDestructor<SlotTable<EventState>> event_table;
inline SlotTable<EventState>& events() noexcept { return event_table.value; }
template <>
inline SlotTable<EventState>& table_of<EventState>() noexcept {
  return events();
}

/// Makes an event without a handle, which layers take for the core's own. `flags` are ANYPLACE_EVENT_*. Throws.
std::unique_ptr<EventState> make_event(DeviceState& device, std::uint32_t flags, const char* operation);
/// Makes one that is to have a handle.
std::unique_ptr<EventState> make_event_of_application(DeviceState& device, std::uint32_t flags, const char* operation);
/// Destroys a backend's event; inside a callback, the service thread does.
void destroy_event(DeviceState& device, anyplace_event handle) noexcept;
/// Destroys the backend's event of an EventState that has `sharing`, once no other process has it open. Defined in
/// event_sharing.cpp.
void end_shared_event(EventState& event) noexcept;

Record most_recent_record(EventState& event);

// -- The operations, for objects that the caller keeps alive. The public calls inline the same bodies.
/// Records the event. Throws invalid_argument, naming both places, if the stream is not of the event's device.
void record(EventState& event, StreamState& stream, const char* operation);
/// Records an event of the core's own behind the work that was really submitted to the stream, so also on a stream that
/// is captured.
void record_behind_work(EventState& event, StreamState& stream, const char* operation);
bool query(EventState& event, const char* operation);
/// Waits for the event. timeout_ns may be ANYPLACE_FOREVER. False when it ran out.
bool synchronize(EventState& event, std::uint64_t timeout_ns, const char* operation);
/// Makes the stream wait for the event, which may be of another device or backend.
void wait(StreamState& stream, EventState& event, const char* operation);

// -- The unusual cases, which are out of line.
[[noreturn]] void refuse_stream(const EventState& event, const StreamState& stream, const char* operation);
/// Returns true if the stream is held, and its queue has the record, or if it is captured.
bool record_was_diverted(EventState& event, StreamState& stream, const char* operation);
/// Records an event that wasn't recorded before, on a stream that isn't held. It is a function of its own so that later
/// records have nothing to note.
void record_first(EventState& event, StreamState& stream, const char* operation);
/// Called after the event was recorded on a stream that isn't held.
void note_plain_record(EventState& event) noexcept;
bool query_carefully(EventState& event, const char* operation);
/// Waits for a record that may be held back, or with a time limit.
bool synchronize_carefully(EventState& event, std::uint64_t timeout_ns, const char* operation);
/// Makes the stream wait where the backends differ, or where the stream or the record may be held.
void wait_carefully(StreamState& stream, EventState& event, const char* operation);

// -- The bodies. handles/use.h has the guards.
template <class Guard>  // has the event and the stream
[[gnu::always_inline]] inline void record_event(const Guard& guard, const char* operation) {
  EventState& event = guard.first();
  StreamState& stream = guard.second();
  DeviceState& device = *stream.device;
  if (event.device != &device) [[unlikely]]
    refuse_stream(event, stream, operation);
  if (guard.careful) [[unlikely]] {
    if (record_was_diverted(event, stream, operation)) return;
  } else if (!event.recorded.load(std::memory_order_relaxed)) [[unlikely]] {
    return record_first(event, stream, operation);
  }
  const anyplace_status status = device.table->event_record(device.self, event.handle, stream.handle);
  guard.check(status, operation);
  if (guard.careful) [[unlikely]]
    note_plain_record(guard.first());
}

template <class Guard>  // has the event
[[gnu::always_inline]] inline bool query_event(const Guard& guard, const char* operation) {
  EventState& event = guard.first();
  if (guard.careful) [[unlikely]]
    return query_carefully(event, operation);
  DeviceState& device = *event.device;
  std::int32_t done = 0;
  const anyplace_status status = device.table->event_query(device.self, event.handle, &done);
  guard.check(status, operation);
  return done != 0;
}

template <class Guard>  // has the event
[[gnu::always_inline]] inline bool synchronize_event(const Guard& guard, std::uint64_t timeout_ns,
                                                     const char* operation) {
  EventState& event = guard.first();
  if (guard.careful) [[unlikely]]
    return synchronize_carefully(event, timeout_ns, operation);
  DeviceState& device = *event.device;
  const anyplace_status status = device.table->event_synchronize(device.self, event.handle, timeout_ns);
  guard.check(status, operation);
  return true;
}

template <class Guard>  // has the event and the stream
[[gnu::always_inline]] inline void wait_event(const Guard& guard, const char* operation) {
  EventState& event = guard.first();
  StreamState& stream = guard.second();
  DeviceState& device = *stream.device;
  if (guard.careful || device.backend != event.device->backend) [[unlikely]]
    return wait_carefully(stream, event, operation);
  const anyplace_status status = device.table->stream_wait_event(device.self, stream.handle, event.handle);
  guard.check(status, operation);
}

}  // namespace anyplace::detail
