// SPDX-License-Identifier: Apache-2.0
//
// HostFunctions: the host functions that are queued in a device's streams.
#pragma once

#include "anyplace/backend/kit/host_functions.h"
#include "device_base.h"

namespace anyplace::hip {

/// The `Vendor` of anyplace/backend/kit/host_functions.h for HIP.
struct HostFunctionCalls : Calls {
  /// hipLaunchHostFunc came with HIP 5.3. The older form does the same here: later work of the stream waits for the
  /// function, which may not call HIP.
  static Called<hipError_t> launch(hipStream_t stream, backend::HostCalls::Call* call) noexcept {
    if (driver().LaunchHostFunc) {
      const auto run = [](void* queued) { backend::HostCalls::finish(queued, ANYPLACE_STATUS_OK); };
      const hipError_t result = driver().LaunchHostFunc(stream, run, call);
      if (!is_unimplemented(result) || !driver().StreamAddCallback) return {result, "hipLaunchHostFunc"};
    }
    const auto called_back = [](hipStream_t, hipError_t result, void* queued) {
      backend::HostCalls::finish(queued, result == hipSuccess ? ANYPLACE_STATUS_OK : ANYPLACE_STATUS_DEVICE_LOST);
    };
    return {driver().StreamAddCallback(stream, called_back, call, 0), "hipStreamAddCallback"};
  }
};

/// Whether the library has host functions.
inline bool has_host_functions() noexcept { return driver().LaunchHostFunc || driver().StreamAddCallback; }

}  // namespace anyplace::hip
