// SPDX-License-Identifier: Apache-2.0
//
// hip_runtime_api.h, and what older ones lack or have in another layout: the double has the same entries whichever it
// is built with (ROCm 5.2 and newer). Not the structs that changed between the majors: those are written by offset.
#pragma once

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>

#include <cstddef>

namespace anyplace::doubles::hip {

/// hipMemAllocationProp as it is from HIP 6 on.
struct AllocationProperties {
  int type;
  int requested_handle_types;
  hipMemLocation location;
  void* win32_handle_data;
  unsigned char compression;
  unsigned char rdma;
  unsigned short usage;
};
static_assert(sizeof(AllocationProperties) == 32);

using HostFunction = void (*)(void*);
using StreamCallback = void (*)(hipStream_t, hipError_t, void*);

}  // namespace anyplace::doubles::hip
