// SPDX-License-Identifier: Apache-2.0
#include "event.h"

namespace anyplace::hip {
namespace {

unsigned hip_flags(std::uint32_t flags) {
  unsigned made = hipEventDefault;
  if ((flags & ANYPLACE_EVENT_TIMING) == 0) made |= hipEventDisableTiming;
  if ((flags & ANYPLACE_EVENT_BLOCKING_SYNC) != 0) made |= hipEventBlockingSync;
  if ((flags & ANYPLACE_EVENT_INTERPROCESS) != 0) made |= hipEventInterprocess | hipEventDisableTiming;
  return made;
}

}  // namespace

hipEvent_t EventCalls::make(DeviceBase& device, std::uint32_t flags) {
  const DeviceScope scope(device);
  hipEvent_t event = nullptr;
  device.check(driver().EventCreateWithFlags(&event, hip_flags(flags)), "hipEventCreateWithFlags");
  return event;
}

hipError_t EventCalls::end(DeviceBase&, hipEvent_t event) noexcept { return driver().EventDestroy(event); }

void EventCalls::check_end(DeviceBase& device, hipError_t result) { device.check_end(result, "hipEventDestroy"); }

bool EventCalls::answer(DeviceBase& device, hipEvent_t, hipError_t result) {
  if (result == hipErrorNotReady) return false;
  device.check(result, "hipEventQuery");
  return true;
}

void EventCalls::wait(DeviceBase& device, hipEvent_t event) {
  device.check(driver().EventSynchronize(event), "hipEventSynchronize");
}

double milliseconds_between(const Event& start, const Event& end) {
  float milliseconds = 0;
  const hipError_t result = driver().EventElapsedTime(&milliseconds, start.native(), end.native());
  if (result == hipErrorInvalidHandle) refuse(ANYPLACE_STATUS_NOT_RECORDED, "one of the events was never recorded");
  start.device().check(result, "hipEventElapsedTime");
  return static_cast<double>(milliseconds);
}

}  // namespace anyplace::hip
