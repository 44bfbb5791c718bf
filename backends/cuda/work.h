// SPDX-License-Identifier: Apache-2.0
//
// Work: tracks what was submitted to a device and may not be over, because CUDA's wait for a device has no limit. A
// stream that is destroyed still completes its work.
#pragma once

#include "anyplace/backend/kit/work.h"
#include "event.h"

namespace anyplace::cuda {

/// The `Vendor` of anyplace/backend/kit/work.h for CUDA.
struct WorkCalls : Calls {
  using Events = EventCalls;
  using Stream = cuda::Stream;
  static constexpr bool destroying_waits = false;
  static constexpr bool context_has_streams = true;
  static constexpr const char* destroy_call = "cuStreamDestroy";

  static bool is_null_idle(DeviceBase& device);
  static bool is_idle(DeviceBase& device, CUstream stream);
  static CUresult destroy(DeviceBase& device, CUstream stream) noexcept;
};

}  // namespace anyplace::cuda
