// SPDX-License-Identifier: Apache-2.0
//
// HostFunctions: the host functions that are queued in a device's streams.
#pragma once

#include "anyplace/backend/kit/host_functions.h"
#include "device_base.h"

namespace anyplace::cuda {

/// The `Vendor` of anyplace/backend/kit/host_functions.h for CUDA.
struct HostFunctionCalls : Calls {
  static Called<CUresult> launch(CUstream stream, backend::HostCalls::Call* call) noexcept {
    const auto run = [](void* queued) { backend::HostCalls::finish(queued, ANYPLACE_STATUS_OK); };
    return {driver().LaunchHostFunc(stream, run, call), "cuLaunchHostFunc"};
  }
};

}  // namespace anyplace::cuda
