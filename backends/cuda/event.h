// SPDX-License-Identifier: Apache-2.0
//
// Event: an event of the application, made of CUevents, and its device. CUDA's events behave as anyplace's: an event
// that was never recorded is complete and holds nothing back, a wait takes the most recent record at the call, and an
// event may be destroyed while it is waited for.
#pragma once

#include "anyplace/backend/kit/events.h"
#include "device_base.h"

namespace anyplace::cuda {

class Stream;

/// The `Vendor` of anyplace/backend/kit/events.h for CUDA.
struct EventCalls : Calls {
  using Stream = cuda::Stream;
  using Native = CUevent;
  using Result = CUresult;

  static CUevent make(DeviceBase& device, std::uint32_t flags);
  static CUresult end(DeviceBase& device, CUevent event) noexcept;
  static void check_end(DeviceBase& device, CUresult result);
  static CUresult ask(CUevent event) noexcept { return driver().EventQuery(event); }
  static bool answer(DeviceBase& device, CUevent event, CUresult result);
  static void wait(DeviceBase& device, CUevent event);
  static void record(const Stream& stream, CUevent event);
};

using Event = backend::RecordedEvent<EventCalls>;

/// Both events belong to one device, have timing and are complete.
double milliseconds_between(const Event& start, const Event& end);

}  // namespace anyplace::cuda
