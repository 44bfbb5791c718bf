// SPDX-License-Identifier: Apache-2.0
//
// Work: what was submitted to a device and may not be over. CUDA waits for a device without a limit only; a stream that
// is destroyed completes its work by itself.
#pragma once

#include "anyplace/backend/kit/work.h"
#include "event.h"

namespace anyplace::cuda {

/// CUDA's calls, as anyplace/backend/kit/work.h asks for them.
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
