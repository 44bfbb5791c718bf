// SPDX-License-Identifier: Apache-2.0
// Operations on events. Each begins with the question whether the most recent record was made on a held stream.
#include "streams/event_state.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/layer_notes.h"
#include "runtime/service.h"
#include "streams/captured.h"
#include "streams/cross_wait.h"
#include "streams/hold.h"

namespace anyplace::detail {

constinit NoDestructor<SlotTable<EventState>> event_table("event");

EventState::EventState() = default;

EventState::~EventState() {
  if (handle == 0) return;
  if (sharing != nullptr) {
    end_shared_event(*this);
  } else {
    destroy_event(*device, handle);
  }
}

void EventState::dispose(EventState* event) noexcept { delete event; }

void destroy_event(DeviceState& device, anyplace_event handle) noexcept {
  if (!backends_callable()) return;
  if (in_callback()) {
    post_to_service([&device, handle] { destroy_event(device, handle); });
    return;
  }
  const anyplace_status status = device.table->event_destroy(device.self, handle);
  check_given_back(status, device, "Event::~Event");
}

std::unique_ptr<EventState> make_event(DeviceState& device, std::uint32_t flags, const char* operation) {
  const CoreCalls scope;
  return make_event_of_application(device, flags, operation);
}

std::unique_ptr<EventState> make_event_of_application(DeviceState& device, std::uint32_t flags, const char* operation) {
  require_usable(device, operation);
  auto event = std::make_unique<EventState>();
  event->device = &device;
  event->flags = flags;
  anyplace_event_desc desc{};
  desc.struct_size = sizeof(desc);
  desc.flags = flags;
  check(device.table->event_create(device.self, device.index, &desc, &event->handle), device, operation);
  if (event->handle == 0) fail(ErrorCode::backend_failed, device.place, operation, "the backend made a null event");
  return event;
}

// ---- Recording -----------------------------------------------------------------------------------------------------
namespace {

/// The event was just recorded on a stream that isn't held: drops the earlier record on a held stream.
void forget_held_record(EventState& event) noexcept {
  std::shared_ptr<HeldRecord> old;
  const std::lock_guard lock(holds().mutex);
  event.record_is_held.store(false, std::memory_order_relaxed);
  old.swap(event.held_record);
  events().set_careful_for(event.id, event.care_for, care_for_held_record, false);
}

}  // namespace

void refuse_stream(const EventState& event, const StreamState& stream, const char* operation) {
  fail(
      ErrorCode::invalid_argument, event.device->place, operation,
      fmt::format("the event is of {}, the stream of {}\nrecord an event on a stream of its own device (waiting for it "
                  "is allowed from any)",
                  event.device->place, stream.device->place));
}

bool record_was_diverted(EventState& event, StreamState& stream, const char* operation) {
  require_usable(*stream.device, operation);
  if (!stream.is_diverted()) return false;
  if (capture_record(event, stream, operation)) return true;
  if (!stream.held.load(std::memory_order_acquire) || !hold_back_record(event, stream, operation)) return false;
  if (event.record_is_captured.load(std::memory_order_acquire)) forget_captured_record(event);
  return true;
}

void record_first(EventState& event, StreamState& stream, const char* operation) {
  DeviceState& device = *stream.device;
  check(device.table->event_record(device.self, event.handle, stream.handle), device, operation);
  note_plain_record(event);
}

void note_plain_record(EventState& event) noexcept {
  event.recorded.store(true, std::memory_order_seq_cst);
  if (event.record_is_held.load(std::memory_order_seq_cst)) [[unlikely]]
    forget_held_record(event);
  if (event.record_is_captured.load(std::memory_order_seq_cst)) [[unlikely]]
    forget_captured_record(event);
}

Record most_recent_record(EventState& event) {
  if (event.record_is_held.load(std::memory_order_acquire)) [[unlikely]] {
    const std::lock_guard lock(holds().mutex);
    if (event.held_record) return {event.device, event.held_record->handle, event.held_record};
  }
  return {event.device, event.handle, nullptr};
}

// ---- Asking and waiting --------------------------------------------------------------------------------------------
namespace {

HeldRecord::State state_of(const HeldRecord& record) {
  const std::lock_guard lock(holds().mutex);
  return record.state;
}

bool is_complete(const Record& record, const char* operation) {
  if (record.held) {
    const HeldRecord::State state = state_of(*record.held);
    if (state != HeldRecord::State::submitted) return state == HeldRecord::State::dropped;
  }
  DeviceState& device = *record.device;
  std::int32_t done = 0;
  check(device.table->event_query(device.self, record.handle, &done), device, operation);
  return done != 0;
}

}  // namespace

bool query_carefully(EventState& event, const char* operation) {
  require_usable(*event.device, operation);
  refuse_if_captured(event, operation);
  return is_complete(most_recent_record(event), operation);
}

bool synchronize_carefully(EventState& event, std::uint64_t timeout_ns, const char* operation) {
  DeviceState& device = *event.device;
  require_usable(device, operation);
  refuse_if_captured(event, operation);
  const Record record = most_recent_record(event);
  std::optional<Deadline> deadline;
  if (record.held) [[unlikely]] {
    deadline.emplace(timeout_ns);
    if (!wait_until_submitted(*record.held, *deadline)) return false;
    require_usable(device, operation);
    if (state_of(*record.held) == HeldRecord::State::dropped) return true;
    timeout_ns = deadline->left();
  }
  const anyplace_status status = device.table->event_synchronize(device.self, record.handle, timeout_ns);
  if (status == ANYPLACE_STATUS_TIMEOUT) return false;
  if (status == ANYPLACE_STATUS_UNSUPPORTED && timeout_ns != ANYPLACE_FOREVER) {
    take_message();
    if (!deadline) deadline.emplace(timeout_ns);
    return poll_until(*deadline, [&] { return is_complete(record, operation); });
  }
  check(status, device, operation);
  return true;
}

void wait_carefully(StreamState& stream, EventState& event, const char* operation) {
  DeviceState& device = *stream.device;
  require_usable(device, operation);
  require_usable(*event.device, operation);
  if (stream.is_diverted() || event.record_is_captured.load(std::memory_order_acquire)) [[unlikely]] {
    if (capture_wait(stream, event, operation)) return;
  }
  const bool plain = device.backend == event.device->backend && !stream.held.load(std::memory_order_acquire) &&
                     !event.record_is_held.load(std::memory_order_acquire);
  if (plain) [[likely]] {
    check(device.table->stream_wait_event(device.self, stream.handle, event.handle), device, operation);
    return;
  }
  // Another library may have recorded the event by its native handle, which only the backend knows. For the backend, an
  // event that was never recorded is complete.
  const Record record = most_recent_record(event);
  const bool submitted = !record.held || state_of(*record.held) == HeldRecord::State::submitted;
  // The record is held back in this very stream, and so comes before all later work anyway.
  if (!submitted && record.held->stream_id == stream.id) return;
  if (is_complete(record, operation)) return;
  if (submitted && device.backend == event.device->backend && !stream.held.load(std::memory_order_acquire)) {
    check(device.table->stream_wait_event(device.self, stream.handle, record.handle), device, operation);
    return;
  }
  wait_across(stream, record, operation);
}

// ---- For the core's own events -------------------------------------------------------------------------------------

void record(EventState& event, StreamState& stream, const char* operation) {
  record_event(Given(event, stream), operation);
}
void record_behind_work(EventState& event, StreamState& stream, const char* operation) {
  require_usable(*stream.device, operation);
  if (stream.held.load(std::memory_order_acquire) && hold_back_record(event, stream, operation)) return;
  record_first(event, stream, operation);
}
bool query(EventState& event, const char* operation) { return query_event(Given(event), operation); }
bool synchronize(EventState& event, std::uint64_t timeout_ns, const char* operation) {
  return synchronize_event(Given(event), timeout_ns, operation);
}
void wait(StreamState& stream, EventState& event, const char* operation) {
  wait_event(Given(event, stream), operation);
}

}  // namespace anyplace::detail
