// SPDX-License-Identifier: Apache-2.0
//
// Event: an event of the application, made of a hipEvent_t, and its device. HIP's events behave as anyplace's: an event
// that was never recorded is complete and holds nothing back, a wait takes the most recent record at the call, and an
// event may be destroyed while it is waited for.
#pragma once

#include "anyplace/backend/kit/events.h"
#include "device_base.h"

namespace anyplace::hip {

class Stream;

/// The `Vendor` of anyplace/backend/kit/events.h for HIP.
struct EventCalls : Calls {
  using Stream = hip::Stream;
  using Native = hipEvent_t;
  using Result = hipError_t;

  static hipEvent_t make(DeviceBase& device, std::uint32_t flags);
  static hipError_t end(DeviceBase& device, hipEvent_t event) noexcept;
  static void check_end(DeviceBase& device, hipError_t result);
  static hipError_t ask(hipEvent_t event) noexcept { return driver().EventQuery(event); }
  static bool answer(DeviceBase& device, hipEvent_t event, hipError_t result);
  static void wait(DeviceBase& device, hipEvent_t event);
  static void record(const Stream& stream, hipEvent_t event);
};

using Event = backend::RecordedEvent<EventCalls>;

/// Both events belong to one device, have timing and are complete.
double milliseconds_between(const Event& start, const Event& end);

}  // namespace anyplace::hip
