// SPDX-License-Identifier: Apache-2.0
// EventView, Event and elapsed_time: the public functions over event_state.h.
#include "anyplace/event.h"

#include <fmt/format.h>

#include <utility>

#include "anyplace/stream.h"
#include "handles/use.h"
#include "plugins/device_properties.h"
#include "runtime/call.h"
#include "runtime/deadline.h"
#include "streams/device_clock.h"
#include "streams/event_state.h"
#include "streams/stream_state.h"

namespace anyplace {

using detail::enter;
using detail::events;
using detail::EventState;
using detail::Pin;

Device EventView::device() const {
  constexpr const char* operation = "Event::device";
  enter(operation);
  return Device(events().pin(id_, operation)->device);
}

// ---- The hot calls -------------------------------------------------------------------------------------------------

void EventView::record(const StreamView& stream) const {
  constexpr const char* operation = "Event::record";
  detail::use<EventState, detail::StreamState>(operation, id_, stream.id(),
                                               [](const auto& guard) { detail::record_event(guard, operation); });
}

bool EventView::query() const {
  constexpr const char* operation = "Event::query";
  return detail::use<EventState>(operation, id_,
                                 [](const auto& guard) { return detail::query_event(guard, operation); });
}

void EventView::synchronize() const {
  constexpr const char* operation = "Event::synchronize";
  detail::use<EventState>(
      operation, id_, [](const auto& guard) { return detail::synchronize_event(guard, ANYPLACE_FOREVER, operation); });
}

// ---- Waiting for a limited time, and the vendor's side -------------------------------------------------------------

bool EventView::synchronize(std::chrono::nanoseconds timeout) const {
  constexpr const char* operation = "Event::synchronize";
  enter(operation);
  const Pin<EventState> event = events().pin(id_, operation);
  return detail::synchronize(*event, detail::to_timeout_ns(timeout), operation);
}

std::uint64_t EventView::native_handle() const {
  constexpr const char* operation = "Event::native_handle";
  enter(operation);
  const Pin<EventState> event = events().pin(id_, operation);
  detail::DeviceState& device = *event->device;
  detail::require_usable(device, operation);
  detail::require_capability(device, Capability::native_handles, operation);
  const detail::Record record = detail::most_recent_record(*event);
  std::uint64_t native = 0;
  detail::check(device.table->event_native(device.self, record.handle, &native), device, operation);
  event->handed_out.store(true, std::memory_order_release);
  return native;
}

// ---- The owner -----------------------------------------------------------------------------------------------------

namespace {

std::uint32_t flags_of(const EventOptions& options, detail::DeviceState& state, const char* operation) {
  if (options.interprocess && options.timing) {
    detail::fail(ErrorCode::invalid_argument, state.place, operation,
                 "an interprocess event can't have timing\nmake two events, or leave one of the options out");
  }
  std::uint32_t flags = 0;
  if (options.timing) {
    detail::require_capability(state, Capability::timed_events, operation);
    flags |= ANYPLACE_EVENT_TIMING;
  }
  if (options.interprocess) {
    detail::require_capability(state, Capability::interprocess_events, operation);
    flags |= ANYPLACE_EVENT_INTERPROCESS;
  }
  if (options.blocking_sync) flags |= ANYPLACE_EVENT_BLOCKING_SYNC;
  return flags;
}

}  // namespace

Event::Event(const Device& device, EventOptions options) {
  constexpr const char* operation = "Event::Event";
  enter(operation);
  detail::DeviceState& state = *device.state();
  detail::require_usable(state, operation);
  const std::uint32_t flags = flags_of(options, state, operation);
  std::unique_ptr<EventState> event = detail::make_event_of_application(state, flags, operation);
  id_ = event->id = events().reserve(operation);
  events().publish(id_, event.release());
}

Event Event::from_native(const Device& device, std::uint64_t native_handle, EventOptions options) {
  constexpr const char* operation = "Event::from_native";
  enter(operation);
  detail::DeviceState& state = *device.state();
  detail::require_usable(state, operation);
  detail::require_capability(state, Capability::event_from_native, operation);
  if (native_handle == 0) detail::fail(ErrorCode::invalid_argument, state.place, operation, "the handle 0 is no event");
  auto event = std::make_unique<EventState>();
  event->device = &state;
  event->flags = flags_of(options, state, operation);
  detail::check(state.table->event_from_native(state.self, state.index, native_handle, event->flags, &event->handle),
                state, operation);
  event->recorded.store(true, std::memory_order_relaxed);
  Event made;
  made.id_ = event->id = events().reserve(operation);
  events().publish(made.id_, event.release());
  return made;
}

Event::Event(Event&& other) noexcept : EventView(std::exchange(other.id_, 0)) {}

Event& Event::operator=(Event&& other) noexcept {
  if (this != &other) {
    if (id_ != 0 && detail::process_running()) events().close(id_);
    id_ = std::exchange(other.id_, 0);
  }
  return *this;
}

Event::~Event() {
  if (id_ != 0 && detail::process_running()) events().close(id_);
}

// ---- Measuring -----------------------------------------------------------------------------------------------------
namespace {

[[noreturn]] void refuse_unrecorded(const EventState& event, const char* which, const char* operation) {
  detail::fail(ErrorCode::not_recorded, event.device->place, operation,
               fmt::format("the {}event was never recorded\nrecord it on a stream first", which));
}

/// Another library may have recorded the event by its native handle, so a backend is asked before it is refused.
bool may_be_unrecorded(const EventState& event) noexcept { return !event.recorded.load(std::memory_order_acquire); }

/// Checks an event that is to be measured with. `which` names it in errors where there are two. Errors that waiting
/// doesn't mend come first. Returns the record, which is complete.
detail::Record measurable(EventState& event, const char* which, const char* operation) {
  const std::string& place = event.device->place;
  if ((event.flags & ANYPLACE_EVENT_TIMING) == 0) {
    detail::fail(
        ErrorCode::timing_disabled, place, operation,
        fmt::format("the {}event was made without timing\nmake it with EventOptions{{.timing = true}}", which));
  }
  if (may_be_unrecorded(event) && !event.handed_out.load(std::memory_order_acquire)) {
    refuse_unrecorded(event, which, operation);
  }
  if (!detail::query(event, operation)) {
    detail::fail(ErrorCode::not_ready, place, operation,
                 fmt::format("the {}event is not complete\nsynchronize it first", which));
  }
  return detail::most_recent_record(event);
}

}  // namespace

double elapsed_time(EventView start, EventView end) {
  constexpr const char* operation = "elapsed_time";
  enter(operation);
  const Pin<EventState> from = events().pin(start.id(), operation);
  const Pin<EventState> to = events().pin(end.id(), operation);
  detail::DeviceState& device = *from->device;
  detail::require_usable(device, operation);
  detail::require_usable(*to->device, operation);
  if (device.backend != to->device->backend) {
    detail::fail(ErrorCode::invalid_argument, device.place, operation,
                 fmt::format("the start event is of {}, the end event of {}\nthere is no common clock between backends",
                             device.place, to->device->place));
  }
  const detail::Record first = measurable(*from, "start ", operation);
  const detail::Record last = measurable(*to, "end ", operation);
  double milliseconds = 0;
  const anyplace_status status = device.table->event_elapsed(device.self, first.handle, last.handle, &milliseconds);
  if (status == ANYPLACE_STATUS_NOT_RECORDED && (may_be_unrecorded(*from) || may_be_unrecorded(*to))) [[unlikely]] {
    static_cast<void>(detail::take_message());
    if (may_be_unrecorded(*from)) refuse_unrecorded(*from, "start ", operation);
    refuse_unrecorded(*to, "end ", operation);
  }
  detail::check(status, device, operation);
  return milliseconds;
}

std::uint64_t EventView::timestamp_ns() const {
  constexpr const char* operation = "Event::timestamp_ns";
  enter(operation);
  const Pin<EventState> event = events().pin(id_, operation);
  detail::DeviceState& device = *event->device;
  detail::require_usable(device, operation);
  const detail::Record record = measurable(*event, "", operation);
  try {
    return device.clock->time_of(device, record, operation);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_recorded || !may_be_unrecorded(*event)) throw;
  }
  refuse_unrecorded(*event, "", operation);
}

}  // namespace anyplace
