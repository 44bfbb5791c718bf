// SPDX-License-Identifier: Apache-2.0
//
// HostFunctions: the functions of the host that are queued in a device's streams.
#pragma once

#include "anyplace/backend/kit/host_functions.h"
#include "device_base.h"

namespace anyplace::cuda {

/// CUDA's calls, as anyplace/backend/kit/host_functions.h asks for them.
struct HostFunctionCalls : Calls {
  static Called<CUresult> launch(CUstream stream, backend::HostCalls::Call* call) noexcept {
    const auto run = [](void* queued) { backend::HostCalls::finish(queued, ANYPLACE_STATUS_OK); };
    return {driver().LaunchHostFunc(stream, run, call), "cuLaunchHostFunc"};
  }
};

}  // namespace anyplace::cuda
