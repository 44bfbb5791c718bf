// SPDX-License-Identifier: Apache-2.0
#include "queue.h"

#include "entries.h"
#include "info.h"
#include "settings.h"

namespace {

anyplace::StreamOptions stream_options(ur_device_handle_t device, ur_queue_flags_t flags) {
  anyplace::StreamOptions options;
  if ((flags & UR_QUEUE_FLAG_PRIORITY_HIGH) != 0) options.priority = device->properties.priorities.greatest;
  if ((flags & UR_QUEUE_FLAG_PRIORITY_LOW) != 0) options.priority = device->properties.priorities.least;
  options.blocking =
      (flags & UR_QUEUE_FLAG_SYNC_WITH_DEFAULT_STREAM) != 0 && device->has(anyplace::Capability::blocking_streams);
  return options;
}

}  // namespace

ur_queue_handle_t_::ur_queue_handle_t_(ur_context_handle_t owner, ur_device_handle_t on, ur_queue_flags_t wanted)
    : context(owner), device(on), flags(wanted) {
  const bool any_order = (flags & UR_QUEUE_FLAG_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
  const unsigned count = any_order ? anyplace_ur::settings().streams : 1;
  const anyplace::StreamOptions options = stream_options(device, flags);
  for (unsigned i = 0; i < count; ++i) lanes.push_back({anyplace::Stream(device->device, options), 0});
}

ur_queue_handle_t_::ur_queue_handle_t_(ur_context_handle_t owner, ur_device_handle_t on, ur_queue_flags_t wanted,
                                       anyplace::Stream stream)
    : context(owner), device(on), flags(wanted) {
  lanes.push_back({std::move(stream), 0});
}

void ur_queue_handle_t_::finish() {
  // Without the lock: streams are never added or taken away, and others may submit meanwhile.
  for (Lane& lane : lanes) lane.stream.synchronize();
}

bool ur_queue_handle_t_::is_empty() {
  for (Lane& lane : lanes) {
    if (!lane.stream.query()) return false;
  }
  return true;
}

namespace anyplace_ur {

namespace {

constexpr ur_queue_flags_t known_flags =
    UR_QUEUE_FLAG_OUT_OF_ORDER_EXEC_MODE_ENABLE | UR_QUEUE_FLAG_PROFILING_ENABLE | UR_QUEUE_FLAG_ON_DEVICE |
    UR_QUEUE_FLAG_ON_DEVICE_DEFAULT | UR_QUEUE_FLAG_DISCARD_EVENTS | UR_QUEUE_FLAG_PRIORITY_LOW |
    UR_QUEUE_FLAG_PRIORITY_HIGH | UR_QUEUE_FLAG_SUBMISSION_BATCHED | UR_QUEUE_FLAG_SUBMISSION_IMMEDIATE |
    UR_QUEUE_FLAG_USE_DEFAULT_STREAM | UR_QUEUE_FLAG_SYNC_WITH_DEFAULT_STREAM |
    UR_QUEUE_FLAG_LOW_POWER_EVENTS_SUPPORT_EXP;

void check_flags(ur_queue_flags_t flags) {
  require((flags & ~known_flags) == 0, UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such flag of a queue");
  const auto both = [&](ur_queue_flags_t one, ur_queue_flags_t other) {
    return (flags & one) != 0 && (flags & other) != 0;
  };
  require(!both(UR_QUEUE_FLAG_PRIORITY_HIGH, UR_QUEUE_FLAG_PRIORITY_LOW), UR_RESULT_ERROR_INVALID_QUEUE_PROPERTIES,
          "a queue has one priority");
  require(!both(UR_QUEUE_FLAG_SUBMISSION_BATCHED, UR_QUEUE_FLAG_SUBMISSION_IMMEDIATE),
          UR_RESULT_ERROR_INVALID_QUEUE_PROPERTIES, "a queue submits in batches or at once");
  require((flags & (UR_QUEUE_FLAG_ON_DEVICE | UR_QUEUE_FLAG_ON_DEVICE_DEFAULT)) == 0,
          UR_RESULT_ERROR_INVALID_QUEUE_PROPERTIES, "there are no queues on the device");
}

}  // namespace

ur_result_t urQueueCreate(ur_context_handle_t context, ur_device_handle_t device,
                          const ur_queue_properties_t* properties, ur_queue_handle_t* queue) {
  return guarded("urQueueCreate", [&] {
    require_handle(context);
    require_handle(device);
    require_pointer(queue);
    require(context->has(device), UR_RESULT_ERROR_INVALID_DEVICE, "the device isn't one of the context's");
    const ur_queue_flags_t flags = properties == nullptr ? 0 : properties->flags;
    check_flags(flags);
    *queue = new ur_queue_handle_t_(context, device, flags);
  });
}

ur_result_t urQueueRetain(ur_queue_handle_t queue) {
  return guarded("urQueueRetain", [&] {
    require_handle(queue);
    queue->retain();
  });
}

ur_result_t urQueueRelease(ur_queue_handle_t queue) {
  return guarded("urQueueRelease", [&] {
    require_handle(queue);
    release_handle(queue);
  });
}

ur_result_t urQueueGetInfo(ur_queue_handle_t queue, ur_queue_info_t name, size_t size, void* value,
                           size_t* size_needed) {
  return guarded("urQueueGetInfo", [&] {
    require_handle(queue);
    const InfoWriter write(size, value, size_needed);
    switch (name) {
      case UR_QUEUE_INFO_CONTEXT:
        return write(queue->context.get());
      case UR_QUEUE_INFO_DEVICE:
        return write(queue->device);
      case UR_QUEUE_INFO_FLAGS:
        return write(queue->flags);
      case UR_QUEUE_INFO_REFERENCE_COUNT:
        return write(queue->references());
      case UR_QUEUE_INFO_EMPTY:
        return write.flag(queue->is_empty());
      case UR_QUEUE_INFO_DEVICE_DEFAULT:
      case UR_QUEUE_INFO_SIZE:
        throw Failure(UR_RESULT_ERROR_INVALID_QUEUE, "the queue isn't one on the device");
      default:
        throw Failure(UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such query of a queue");
    }
  });
}

ur_result_t urQueueGetNativeHandle(ur_queue_handle_t queue, ur_queue_native_desc_t*, ur_native_handle_t* native) {
  return guarded("urQueueGetNativeHandle", [&] {
    require_handle(queue);
    require_pointer(native);
    *native = queue->lanes.front().stream.native_handle();
  });
}

ur_result_t urQueueCreateWithNativeHandle(ur_native_handle_t native, ur_context_handle_t context,
                                          ur_device_handle_t device, const ur_queue_native_properties_t*,
                                          ur_queue_handle_t* queue) {
  return guarded("urQueueCreateWithNativeHandle", [&] {
    require_handle(context);
    require_pointer(queue);
    const ur_device_handle_t on = device == nullptr ? context->devices.front() : device;
    *queue = new ur_queue_handle_t_(context, on, 0, anyplace::Stream::from_native(on->device, native));
  });
}

ur_result_t urQueueFinish(ur_queue_handle_t queue) {
  return guarded("urQueueFinish", [&] {
    require_handle(queue);
    queue->finish();
  });
}

ur_result_t urQueueFlush(ur_queue_handle_t queue) {
  // Commands go to their streams at once, and streams hold nothing back.
  return guarded("urQueueFlush", [&] { require_handle(queue); });
}

}  // namespace anyplace_ur
