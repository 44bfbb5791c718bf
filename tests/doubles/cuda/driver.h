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
