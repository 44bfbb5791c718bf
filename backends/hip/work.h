// SPDX-License-Identifier: Apache-2.0
//
// Work: tracks what was submitted to a device and may not be over, because HIP's wait for a device has no limit, and
// hipStreamDestroy waits for the stream's work.
#pragma once

#include "anyplace/backend/kit/work.h"
#include "event.h"

namespace anyplace::hip {

/// The `Vendor` of anyplace/backend/kit/work.h for HIP.
struct WorkCalls : Calls {
  using Events = EventCalls;
  using Stream = hip::Stream;
  static constexpr bool destroying_waits = true;
  static constexpr bool context_has_streams = false;
  static constexpr const char* destroy_call = "hipStreamDestroy";

  static bool is_null_idle(DeviceBase& device);
  static bool is_idle(DeviceBase& device, hipStream_t stream);
  static hipError_t destroy(DeviceBase& device, hipStream_t stream) noexcept;
};

}  // namespace anyplace::hip
