// SPDX-License-Identifier: Apache-2.0
//
// Gates: words of pinned host memory that streams wait on (cuStreamWaitValue32, whose comparison is cyclic).
#pragma once

#include "anyplace/backend/kit/gates.h"
#include "device_base.h"

namespace anyplace::cuda {

/// The `Vendor` of anyplace/backend/kit/gates.h for CUDA.
struct GateCalls : Calls {
  using Number = cuuint32_t;
  static constexpr std::size_t words = 64;
  static constexpr std::size_t distance = 64;

  static Called<CUresult> allocate(void*& host, anyplace_address& device) noexcept {
    constexpr unsigned flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
    CUresult result = driver().MemHostAlloc(&host, words * distance, flags);
    if (result != CUDA_SUCCESS) return {result, "cuMemHostAlloc"};
    CUdeviceptr address = 0;
    result = driver().MemHostGetDevicePointer(&address, host, 0);
    if (result != CUDA_SUCCESS) driver().MemFreeHost(host);
    device = address;
    return {result, "cuMemHostGetDevicePointer"};
  }
  static CUresult free(void* host) noexcept { return driver().MemFreeHost(host); }
};

}  // namespace anyplace::cuda
