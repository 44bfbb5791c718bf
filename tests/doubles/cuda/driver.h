// SPDX-License-Identifier: Apache-2.0
//
// What the files of the double share beside the runtime (../engine/runtime): contexts by their handles, and the forms
// of entries whose stream 0 is the thread's own.
#pragma once

#include "../engine/runtime/calls.h"
#include "config.h"
#include "device_limits.h"
#include "entries.h"

namespace anyplace::doubles::cuda {

/// A context by its handle, current or not. INVALID_CONTEXT, or CONTEXT_IS_DESTROYED.
int find_context(CUcontext handle, ContextRef& context);

/// What a launch is checked for, stream aside, and the values that it gives.
int check_launch(const Function& function, const KernelShape& shape, void** arguments, void** extra,
                 std::vector<const void*>& values);
/// One end of a copy as the structs for rows describe it.
int end_of(CUmemorytype type, const void* host, CUdeviceptr device, size_t x, size_t y, size_t pitch, size_t width,
           End& end);

/// Sets for the calling thread, while a _ptsz or _ptds entry runs, what the stream 0 is.
class PerThreadDefault {
 public:
  PerThreadDefault() noexcept;
  ~PerThreadDefault();
  PerThreadDefault(const PerThreadDefault&) = delete;
  PerThreadDefault& operator=(const PerThreadDefault&) = delete;
};
SpecialStream meaning_of(CUstream stream) noexcept;

}  // namespace anyplace::doubles::cuda
