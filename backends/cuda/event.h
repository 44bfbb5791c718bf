// SPDX-License-Identifier: Apache-2.0
//
// Event: CUevents and the device that they are of. CUDA's events are anyplace's: an event that was never recorded is
// complete and no wait, a wait takes the most recent record at the call, destroying one that is waited for is safe.
#pragma once

#include "anyplace/backend/kit/events.h"
#include "device_base.h"

namespace anyplace::cuda {

class Stream;

/// CUDA's calls, as anyplace/backend/kit/events.h asks for them.
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

/// Both are of one device, have timing and are complete.
double milliseconds_between(const Event& start, const Event& end);

}  // namespace anyplace::cuda
