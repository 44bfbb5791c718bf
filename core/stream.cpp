// SPDX-License-Identifier: Apache-2.0
// StreamView and Stream: the public face of stream_state.h. Copies are in copy.cpp, launches in kernel.cpp, host
// functions in host_function.cpp.
#include "anyplace/stream.h"

#include <utility>

#include "call.h"
#include "deadline.h"
#include "event_state.h"
#include "stream_state.h"

namespace anyplace {

using detail::enter;
using detail::Pin;
using detail::streams;
using detail::StreamState;

Device StreamView::device() const {
  constexpr const char* operation = "Stream::device";
  enter(operation);
  return Device(streams().pin(id_, operation)->device);
}

int StreamView::priority() const {
  constexpr const char* operation = "Stream::priority";
  enter(operation);
  return streams().pin(id_, operation)->priority;
}

std::uint64_t StreamView::native_handle() const {
  constexpr const char* operation = "Stream::native_handle";
  enter(operation);
  const Pin<StreamState> stream = streams().pin(id_, operation);
  detail::DeviceState& device = *stream->device;
  detail::require_usable(device, operation);
  detail::require_capability(device, Capability::native_handles, operation);
  std::uint64_t native = 0;
  detail::check(device.table->stream_native(device.self, stream->handle, &native), device, operation);
  return native;
}

namespace {

[[gnu::noinline]] bool query_long_way(std::uint64_t stream_id, const char* operation) {
  detail::enter_long_way(operation);
  const Pin<StreamState> stream = streams().pin(stream_id, operation);
  return detail::query(*stream, operation);
}

[[gnu::noinline]] void synchronize_long_way(std::uint64_t stream_id, const char* operation) {
  detail::enter_long_way(operation);
  const Pin<StreamState> stream = streams().pin(stream_id, operation);
  static_cast<void>(detail::synchronize(*stream, ANYPLACE_FOREVER, operation));
}

/// The fault of the stream that is borrowed second.
[[gnu::noinline, gnu::cold]] void throw_fault_of(const detail::CallRecord& record) {
  const detail::Slot& stream = streams().borrow(record.second.load(std::memory_order_relaxed));
  detail::throw_fault(*static_cast<StreamState*>(stream.object), true);
}

[[gnu::noinline]] void wait_long_way(std::uint64_t stream_id, std::uint64_t event_id, const char* operation) {
  detail::enter_long_way(operation);
  const Pin<StreamState> stream = streams().pin(stream_id, operation);
  const Pin<detail::EventState> event = detail::events().pin(event_id, operation);
  detail::wait(*stream, *event, operation);
}

}  // namespace

bool StreamView::query() const {
  constexpr const char* operation = "Stream::query";
  const std::uint64_t id = id_;
  if (detail::CallRecord* const record = detail::call_state.record) [[likely]] {
    const detail::Borrow borrow(*record, id);
    const detail::Slot& stream = streams().borrow(id);
    if (stream.is(id)) [[likely]] {
      const detail::DeviceState* const device = stream.device;
      record->faulted = &static_cast<const StreamState*>(stream.object)->faulted;
      record->done = 0;
      const anyplace_status status = device->table->stream_query(device->self, stream.handle, &record->done);
      if (status != ANYPLACE_STATUS_OK) [[unlikely]]
        detail::raise_borrowed<StreamState>(status, *record, operation);
      // After the question: a fault is reported before the command that has it counts as complete.
      if (record->faulted->load(std::memory_order_acquire)) [[unlikely]]
        return query_long_way(record->second.load(std::memory_order_relaxed), operation);
      return record->done != 0;
    }
  }
  return query_long_way(id, operation);
}

void StreamView::synchronize() const {
  constexpr const char* operation = "Stream::synchronize";
  const std::uint64_t id = id_;
  if (detail::CallRecord* const record = detail::call_state.record) [[likely]] {
    // For as long as the work takes: a closer leaves the stream to the polling thread, as it does for a pin. A backend
    // may run the user's code inside, where the record isn't to be had.
    const detail::Borrow borrow(*record, id);
    const detail::Slot& stream = streams().borrow(id);
    if (stream.is(id)) [[likely]] {
      const detail::DeviceState* const device = stream.device;
      record->faulted = &static_cast<const StreamState*>(stream.object)->faulted;
      const anyplace_status status = device->table->stream_synchronize(device->self, stream.handle, ANYPLACE_FOREVER);
      if (status != ANYPLACE_STATUS_OK) [[unlikely]]
        detail::raise_borrowed<StreamState>(status, *record, operation);
      if (record->faulted->load(std::memory_order_acquire)) [[unlikely]]
        throw_fault_of(*record);
      return;
    }
  }
  synchronize_long_way(id, operation);
}

bool StreamView::synchronize(std::chrono::nanoseconds timeout) const {
  constexpr const char* operation = "Stream::synchronize";
  enter(operation);
  const Pin<StreamState> stream = streams().pin(id_, operation);
  return detail::synchronize(*stream, detail::to_timeout_ns(timeout), operation);
}

Event StreamView::record_event(EventOptions options) const {
  Event event(device(), options);
  event.record(*this);
  return event;
}

EventView StreamView::record_event(EventView event) const {
  event.record(*this);
  return event;
}

void StreamView::wait_event(EventView event) const {
  constexpr const char* operation = "Stream::wait_event";
  const std::uint64_t stream_id = id_;
  const std::uint64_t event_id = event.id();
  if (detail::CallRecord* const record = detail::call_state.record) [[likely]] {
    const detail::Borrow borrow(*record, event_id, stream_id);
    const detail::Slot& mark = detail::events().borrow(event_id);
    const detail::Slot& stream = streams().borrow(stream_id);
    if (mark.is(event_id) && stream.is(stream_id)) [[likely]] {
      const detail::DeviceState* const device = stream.device;
      if (device == mark.device || device->backend == mark.device->backend) [[likely]] {
        const anyplace_status status = device->table->stream_wait_event(device->self, stream.handle, mark.handle);
        if (status == ANYPLACE_STATUS_OK) [[likely]]
          return;
        detail::raise_borrowed<StreamState>(status, *record, operation);
      }
    }
  }
  wait_long_way(stream_id, event_id, operation);
}

void StreamView::wait_stream(const StreamView& other) const {
  constexpr const char* operation = "Stream::wait_stream";
  enter(operation);
  const Pin<StreamState> stream = streams().pin(id_, operation);
  const Pin<StreamState> before = streams().pin(other.id(), operation);
  detail::require_usable(*stream->device, operation);
  detail::require_usable(*before->device, operation);
  if (stream.get() == before.get()) return;
  const std::unique_ptr<detail::EventState> event = detail::make_event(*before->device, 0, operation);
  detail::record(*event, *before, operation);
  detail::wait(*stream, *event, operation);
}

// ---- The owner -----------------------------------------------------------------------------------------------------

Stream::Stream(const Device& device, StreamOptions options) {
  constexpr const char* operation = "Stream::Stream";
  enter(operation);
  id_ = detail::make_stream(*device.state(), options.priority, options.blocking, operation);
}

Stream::Stream(Stream&& other) noexcept : StreamView(std::exchange(other.id_, 0)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  if (this != &other) {
    detail::retire_stream(id_);
    id_ = std::exchange(other.id_, 0);
  }
  return *this;
}

Stream::~Stream() { detail::retire_stream(id_); }

Stream Stream::from_native(const Device& device, std::uint64_t native_handle) {
  constexpr const char* operation = "Stream::from_native";
  enter(operation);
  detail::require_usable(*device.state(), operation);
  detail::require_capability(*device.state(), Capability::stream_from_native, operation);
  Stream stream;
  stream.id_ = detail::wrap_stream(*device.state(), native_handle, operation);
  return stream;
}

}  // namespace anyplace
