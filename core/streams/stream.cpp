// SPDX-License-Identifier: Apache-2.0
// StreamView and Stream: the public functions over stream_state.h. Copies are in memory/copy.cpp, launches in
// kernels/launch.cpp, host functions in host_function.cpp.
#include "anyplace/stream.h"

#include <utility>

#include "handles/use.h"
#include "plugins/device_properties.h"
#include "runtime/call.h"
#include "runtime/deadline.h"
#include "streams/event_state.h"
#include "streams/stream_state.h"

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
  if (stream->captured.load(std::memory_order_acquire)) {
    detail::fail(
        ErrorCode::capturing, device.place, operation,
        "the stream is being captured, and what is submitted to the vendor's stream isn't part of that\nsubmit "
        "it through this stream, or outside of the capture\nsee docs/graphs.md");
  }
  std::uint64_t native = 0;
  detail::check(device.table->stream_native(device.self, stream->handle, &native), device, operation);
  return native;
}

bool StreamView::query() const {
  constexpr const char* operation = "Stream::query";
  return detail::use<StreamState>(operation, id_,
                                  [](const auto& guard) { return detail::query_stream(guard, operation); });
}

void StreamView::synchronize() const {
  constexpr const char* operation = "Stream::synchronize";
  // The guard keeps the stream for as long as the work takes; a thread that closes the handle meanwhile leaves the
  // release to the polling thread. The backend may run the user's code inside this call; that code doesn't use the
  // thread's hazard pointers, because it is marked as a callback.
  detail::use<StreamState>(
      operation, id_, [](const auto& guard) { return detail::synchronize_stream(guard, ANYPLACE_FOREVER, operation); });
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
  detail::use<detail::EventState, StreamState>(operation, event.id(), id_,
                                               [](const auto& guard) { detail::wait_event(guard, operation); });
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
