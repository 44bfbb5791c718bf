// SPDX-License-Identifier: Apache-2.0
#include "event.h"

namespace anyplace::cuda {
namespace {

unsigned cuda_flags(std::uint32_t flags) {
  unsigned made = CU_EVENT_DEFAULT;
  if ((flags & ANYPLACE_EVENT_TIMING) == 0) made |= CU_EVENT_DISABLE_TIMING;
  if ((flags & ANYPLACE_EVENT_BLOCKING_SYNC) != 0) made |= CU_EVENT_BLOCKING_SYNC;
  if ((flags & ANYPLACE_EVENT_INTERPROCESS) != 0) made |= CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
  return made;
}

/// Makes a call that takes an event. By the manual it needs no context; if a driver wants one, or another library's
/// destroyed context is current, the call is repeated in the device's context.
template <class Call>
CUresult call_for(const DeviceBase& device, Call&& call) {
  const CUresult result = call();
  if (!is_of_current_context(result)) [[likely]]
    return result;
  const ContextScope scope(device.handle());
  return scope.result() == CUDA_SUCCESS ? call() : scope.result();
}

}  // namespace

CUevent EventCalls::make(DeviceBase& device, std::uint32_t flags) {
  const DeviceScope scope(device);
  CUevent event = nullptr;
  device.check(driver().EventCreate(&event, cuda_flags(flags)), "cuEventCreate");
  return event;
}

CUresult EventCalls::end(DeviceBase& device, CUevent event) noexcept {
  return call_for(device, [event] { return driver().EventDestroy(event); });
}

void EventCalls::check_end(DeviceBase& device, CUresult result) { device.check_end(result, "cuEventDestroy"); }

bool EventCalls::answer(DeviceBase& device, CUevent event, CUresult result) {
  if (is_of_current_context(result)) result = call_for(device, [event] { return driver().EventQuery(event); });
  if (result == CUDA_ERROR_NOT_READY) return false;
  device.check(result, "cuEventQuery");
  return true;
}

void EventCalls::wait(DeviceBase& device, CUevent event) {
  device.check(call_for(device, [event] { return driver().EventSynchronize(event); }), "cuEventSynchronize");
}

double milliseconds_between(const Event& start, const Event& end) {
  const auto elapsed_time =
      driver().EventElapsedTime != nullptr ? driver().EventElapsedTime : driver().EventElapsedTime_v2;
  float milliseconds = 0;
  const CUresult result =
      call_for(start.device(), [&] { return elapsed_time(&milliseconds, start.native(), end.native()); });
  if (result == CUDA_ERROR_INVALID_HANDLE) refuse(ANYPLACE_STATUS_NOT_RECORDED, "one of the events was never recorded");
  start.device().check(result, "cuEventElapsedTime");
  return static_cast<double>(milliseconds);
}

}  // namespace anyplace::cuda
