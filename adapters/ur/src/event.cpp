// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include <algorithm>
#include <memory>

#include "entries.h"
#include "event_callbacks.h"
#include "info.h"

bool ur_event_handle_t_::is_complete() const { return !end || end.query(); }

void ur_event_handle_t_::wait() const {
  if (end) end.synchronize();
  // The faults of a stream aren't its events' business in anyplace, but they are those of who waits for a command.
  if (queue) static_cast<void>(queue->lanes[lane].stream.query());
}

namespace anyplace_ur {

namespace {

ur_event_status_t status_of(const ur_event_handle_t_& event) {
  return event.is_complete() ? UR_EVENT_STATUS_COMPLETE : UR_EVENT_STATUS_SUBMITTED;
}

/// When the command was queued, on the device's clock. Clocks drift apart, so each answer after the first is the same.
std::uint64_t queued_time(ur_event_handle_t_& event) {
  const std::uint64_t known = event.queued_on_device_ns.load();
  if (known != 0) return known;
  const anyplace::ClockReading now = event.device->device.clock();
  std::uint64_t queued = event.queued_ns + now.device_ns - now.host_ns;
  // Two clocks never agree to the last nanosecond, and nothing starts before it was submitted.
  if (event.is_complete()) queued = std::min(queued, event.start.timestamp_ns());
  event.queued_on_device_ns = queued;
  return queued;
}

std::uint64_t profile(ur_event_handle_t_& event, ur_profiling_info_t name) {
  require(static_cast<bool>(event.start), UR_RESULT_ERROR_PROFILING_INFO_NOT_AVAILABLE,
          "the queue was made without UR_QUEUE_FLAG_PROFILING_ENABLE");
  const bool timestamp = event.type == UR_COMMAND_TIMESTAMP_RECORDING_EXP;
  switch (name) {
    case UR_PROFILING_INFO_COMMAND_QUEUED:
    case UR_PROFILING_INFO_COMMAND_SUBMIT:
      return queued_time(event);
    case UR_PROFILING_INFO_COMMAND_START:
    case UR_PROFILING_INFO_COMMAND_END:
    case UR_PROFILING_INFO_COMMAND_COMPLETE: {
      require(event.is_complete(), UR_RESULT_ERROR_PROFILING_INFO_NOT_AVAILABLE, "the command isn't done");
      const bool at_end = timestamp || name != UR_PROFILING_INFO_COMMAND_START;
      return (at_end ? event.end.view() : event.start.view()).timestamp_ns();
    }
    default:
      throw Failure(UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such time of a command");
  }
}

}  // namespace

ur_result_t urEventGetInfo(ur_event_handle_t event, ur_event_info_t name, size_t size, void* value,
                           size_t* size_needed) {
  return guarded("urEventGetInfo", [&] {
    require_handle(event);
    const InfoWriter write(size, value, size_needed);
    switch (name) {
      case UR_EVENT_INFO_COMMAND_QUEUE:
        return write(event->queue.get());
      case UR_EVENT_INFO_CONTEXT:
        return write(event->context.get());
      case UR_EVENT_INFO_COMMAND_TYPE:
        return write(event->type);
      case UR_EVENT_INFO_COMMAND_EXECUTION_STATUS:
        return write(status_of(*event));
      case UR_EVENT_INFO_REFERENCE_COUNT:
        return write(event->references());
      default:
        throw Failure(UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such query of an event");
    }
  });
}

ur_result_t urEventGetProfilingInfo(ur_event_handle_t event, ur_profiling_info_t name, size_t size, void* value,
                                    size_t* size_needed) {
  return guarded("urEventGetProfilingInfo", [&] {
    require_handle(event);
    const std::uint64_t time = profile(*event, name);
    const InfoWriter write(size, value, size_needed);
    write(time);
  });
}

ur_result_t urEventWait(uint32_t count, const ur_event_handle_t* events) {
  return guarded("urEventWait", [&] {
    require_pointer(events);
    require(count != 0, UR_RESULT_ERROR_INVALID_VALUE, "there is no event to wait for");
    for (uint32_t i = 0; i < count; ++i) require_handle(events[i]);
    for (uint32_t i = 0; i < count; ++i) events[i]->wait();
  });
}

ur_result_t urEventRetain(ur_event_handle_t event) {
  return guarded("urEventRetain", [&] {
    require_handle(event);
    event->retain();
  });
}

ur_result_t urEventRelease(ur_event_handle_t event) {
  return guarded("urEventRelease", [&] {
    require_handle(event);
    release_handle(event);
  });
}

ur_result_t urEventGetNativeHandle(ur_event_handle_t event, ur_native_handle_t* native) {
  return guarded("urEventGetNativeHandle", [&] {
    require_handle(event);
    require_pointer(native);
    *native = event->end.native_handle();
  });
}

ur_result_t urEventCreateWithNativeHandle(ur_native_handle_t native, ur_context_handle_t context,
                                          const ur_event_native_properties_t*, ur_event_handle_t* event) {
  return guarded("urEventCreateWithNativeHandle", [&] {
    require_handle(context);
    require_pointer(event);
    auto made = std::make_unique<ur_event_handle_t_>(context, context->devices.front());
    // Nobody's event is one of nothing, which is complete.
    if (native != 0) made->end = anyplace::Event::from_native(made->device->device, native);
    *event = made.release();
  });
}

ur_result_t urEventSetCallback(ur_event_handle_t event, ur_execution_info_t status, ur_event_callback_t callback,
                               void* user_data) {
  return guarded("urEventSetCallback", [&] {
    require_handle(event);
    require_pointer(reinterpret_cast<const void*>(callback));
    require(status >= UR_EXECUTION_INFO_COMPLETE && status <= UR_EXECUTION_INFO_QUEUED,
            UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such status of a command");
    call_when_reached(event, status, callback, user_data);
  });
}

}  // namespace anyplace_ur
