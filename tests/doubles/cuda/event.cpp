// SPDX-License-Identifier: Apache-2.0
//
// Events. A record is an operation of its stream; the event keeps the most recent one, and who waits keeps the one that
// was the most recent then.
#include <utility>

#include "state.h"

namespace anyplace::doubles::cuda {
namespace {

CUresult record(CUevent handle, CUstream stream_handle) {
  StreamRef stream;
  const CUresult result = resolve_stream(stream_handle, stream);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  const EventRef event = state().events.find(handle);
  if (event == nullptr || event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
  event->record = submit(lock, stream, Operation{});
  return CUDA_SUCCESS;
}

/// The event and its context's error, if it has one.
CUresult find_event(const Locked&, CUevent handle, EventRef& event) {
  event = state().events.find(handle);
  return event == nullptr ? CUDA_ERROR_INVALID_HANDLE : fault_of(*event->context);
}

}  // namespace

CUDA_DOUBLE_ENTRY(cuEventCreate)(CUevent* event, unsigned flags) {
  const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  if (event == nullptr || (flags & ~known) != 0) return CUDA_ERROR_INVALID_VALUE;
  const bool interprocess = (flags & CU_EVENT_INTERPROCESS) != 0;
  if (interprocess && (flags & CU_EVENT_DISABLE_TIMING) == 0) return CUDA_ERROR_INVALID_VALUE;
  ContextRef context;
  const CUresult result = current_context(context);
  if (result != CUDA_SUCCESS) return result;
  auto made = std::make_shared<Event>();
  made->context = context;
  made->flags = flags;
  const Locked lock(state().mutex);
  *event = state().events.add(std::move(made));
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuEventRecord)(CUevent event, CUstream stream) { return record(event, stream); }

CUDA_DOUBLE_ENTRY(cuEventRecordWithFlags)(CUevent event, CUstream stream, unsigned flags) {
  return flags == 0 ? record(event, stream) : CUDA_ERROR_INVALID_VALUE;
}

CUDA_DOUBLE_ENTRY(cuEventQuery)(CUevent event) {
  const Locked lock(state().mutex);
  EventRef found;
  const CUresult result = find_event(lock, event, found);
  if (result != CUDA_SUCCESS) return result;
  return state().engine.is_done(found->record) ? fault_of(*found->context) : CUDA_ERROR_NOT_READY;
}

CUDA_DOUBLE_ENTRY(cuEventSynchronize)(CUevent event) {
  EventRef found;
  CompletionRef waited;
  {
    const Locked lock(state().mutex);
    const CUresult result = find_event(lock, event, found);
    if (result != CUDA_SUCCESS) return result;
    waited = found->record;
  }
  return wait_for({waited}, *found->context);
}

CUDA_DOUBLE_ENTRY(cuEventDestroy_v2)(CUevent event) {
  const Locked lock(state().mutex);
  const EventRef found = state().events.find(event);
  if (found == nullptr) {
    misuses().add("cuEventDestroy of what is no event, or no longer");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  state().events.remove(event);
  return fault_of(*found->context);
}

CUDA_DOUBLE_ENTRY(cuEventElapsedTime)(float* milliseconds, CUevent start, CUevent end) {
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Locked lock(state().mutex);
  EventRef first;
  EventRef second;
  CUresult result = find_event(lock, start, first);
  if (result == CUDA_SUCCESS) result = find_event(lock, end, second);
  if (result != CUDA_SUCCESS) return result;
  const bool timed = ((first->flags | second->flags) & CU_EVENT_DISABLE_TIMING) == 0;
  if (!timed || first->context != second->context || first->record == nullptr || second->record == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  const uint64_t from = state().engine.done_at(first->record);
  const uint64_t to = state().engine.done_at(second->record);
  if (from == 0 || to == 0) return CUDA_ERROR_NOT_READY;
  *milliseconds = static_cast<float>(static_cast<double>(static_cast<int64_t>(to - from)) / 1e6);
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuEventElapsedTime_v2)(float* milliseconds, CUevent start, CUevent end) {
  return do_cuEventElapsedTime(milliseconds, start, end);
}

CUDA_DOUBLE_ENTRY(cuIpcGetEventHandle)(CUipcEventHandle* handle, CUevent event) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Locked lock(state().mutex);
  EventRef found;
  const CUresult result = find_event(lock, event, found);
  return result == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : result;
}

CUDA_DOUBLE_ENTRY(cuIpcOpenEventHandle)(CUevent* event, CUipcEventHandle) {
  return event == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace anyplace::doubles::cuda
