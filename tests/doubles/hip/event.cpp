// SPDX-License-Identifier: Apache-2.0
//
// Events. A record is an operation of its stream; the event keeps the most recent one, and who waits keeps the one that
// was the most recent then.
#include <cstring>
#include <utility>

#include "state.h"

namespace anyplace::doubles::hip {
namespace {

/// The event and its device's error, if it has one.
hipError_t find_event(const Locked&, hipEvent_t handle, EventRef& event) {
  event = state().events.find(handle);
  return event == nullptr ? hipErrorInvalidHandle : fault_of(*event->device);
}

hipError_t create(hipEvent_t* event, unsigned flags) {
  const unsigned known = hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess;
  if (event == nullptr || (flags & ~known) != 0) return hipErrorInvalidValue;
  const bool interprocess = (flags & hipEventInterprocess) != 0;
  if (interprocess && (flags & hipEventDisableTiming) == 0) return hipErrorInvalidValue;
  DeviceRef device;
  const hipError_t result = current_device(device);
  if (result != hipSuccess) return result;
  auto made = std::make_shared<Event>();
  made->device = device;
  made->flags = flags;
  const Locked lock(state().mutex);
  *event = state().events.add(std::move(made));
  return hipSuccess;
}

}  // namespace

HIP_DOUBLE_ENTRY(hipEventCreate)(hipEvent_t* event) { return create(event, hipEventDefault); }
HIP_DOUBLE_ENTRY(hipEventCreateWithFlags)(hipEvent_t* event, unsigned flags) { return create(event, flags); }

HIP_DOUBLE_ENTRY(hipEventRecord)(hipEvent_t event, hipStream_t stream_handle) {
  StreamRef stream;
  const hipError_t result = resolve_stream(stream_handle, stream);
  if (result != hipSuccess) return result;
  const Locked lock(state().mutex);
  const EventRef found = state().events.find(event);
  if (found == nullptr || found->device != stream->device) return hipErrorInvalidHandle;
  found->record = submit(lock, stream, Operation{});
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipEventQuery)(hipEvent_t event) {
  const Locked lock(state().mutex);
  EventRef found;
  const hipError_t result = find_event(lock, event, found);
  if (result != hipSuccess) return result;
  return state().engine.is_done(found->record) ? fault_of(*found->device) : hipErrorNotReady;
}

HIP_DOUBLE_ENTRY(hipEventSynchronize)(hipEvent_t event) {
  EventRef found;
  CompletionRef waited;
  {
    const Locked lock(state().mutex);
    const hipError_t result = find_event(lock, event, found);
    if (result != hipSuccess) return result;
    waited = found->record;
  }
  return wait_for({waited}, *found->device);
}

HIP_DOUBLE_ENTRY(hipEventDestroy)(hipEvent_t event) {
  const Locked lock(state().mutex);
  const EventRef found = state().events.find(event);
  if (found == nullptr) {
    misuses().add("hipEventDestroy of what is no event, or no longer");
    return hipErrorInvalidHandle;
  }
  state().events.remove(event);
  return fault_of(*found->device);
}

HIP_DOUBLE_ENTRY(hipEventElapsedTime)(float* milliseconds, hipEvent_t start, hipEvent_t end) {
  if (milliseconds == nullptr) return hipErrorInvalidValue;
  const Locked lock(state().mutex);
  EventRef first;
  EventRef second;
  hipError_t result = find_event(lock, start, first);
  if (result == hipSuccess) result = find_event(lock, end, second);
  if (result != hipSuccess) return result;
  const bool timed = ((first->flags | second->flags) & hipEventDisableTiming) == 0;
  if (!timed || first->device != second->device || first->record == nullptr || second->record == nullptr) {
    return hipErrorInvalidHandle;
  }
  const uint64_t from = state().engine.done_at(first->record);
  const uint64_t to = state().engine.done_at(second->record);
  if (from == 0 || to == 0) return hipErrorNotReady;
  *milliseconds = static_cast<float>(static_cast<double>(static_cast<int64_t>(to - from)) / 1e6);
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipIpcGetEventHandle)(hipIpcEventHandle_t* handle, hipEvent_t event) {
  if (handle == nullptr) return hipErrorInvalidValue;
  const Locked lock(state().mutex);
  EventRef found;
  const hipError_t result = find_event(lock, event, found);
  if (result != hipSuccess) return result;
  if ((found->flags & hipEventInterprocess) == 0) return hipErrorInvalidResourceHandle;
  // No process can do anything with it: there is no entry that opens one.
  std::memset(handle, 0, sizeof(*handle));
  std::memcpy(handle, &event, sizeof(event));
  return hipSuccess;
}

}  // namespace anyplace::doubles::hip
