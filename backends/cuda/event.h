// SPDX-License-Identifier: Apache-2.0
//
// Event: CUevents and the device that they are of. CUDA's events are anyplace's: an event that was never recorded is
// complete and no wait, a wait takes the most recent record at the call, destroying one that is waited for is safe.
// EventPool and Marker: events of the backend's own.
#pragma once

#include <cstdint>

#include "anyplace/backend/kit/events.h"
#include "driver.h"

namespace anyplace::cuda {

class Device;
class Stream;

/// CUDA's calls, as anyplace/backend/kit/events.h asks for them.
struct EventCalls {
  using Device = cuda::Device;
  using Stream = cuda::Stream;
  using Native = CUevent;
  using Result = CUresult;

  static CUevent make(Device& device, std::uint32_t flags);
  static CUresult end(Device& device, CUevent event) noexcept;
  static void check_end(Device& device, CUresult result);
  static CUresult ask(CUevent event) noexcept { return driver().EventQuery(event); }
  static bool answer(Device& device, CUevent event, CUresult result);
  static void wait(Device& device, CUevent event);
  static void record(const Stream& stream, CUevent event);
};

using Event = anyplace::backend::RecordedEvent<EventCalls>;
using EventPool = anyplace::backend::EventPool<EventCalls>;
using Marker = anyplace::backend::Marker<EventCalls>;

/// Both have timing and are complete.
double milliseconds_between(const Event& start, const Event& end);

}  // namespace anyplace::cuda
