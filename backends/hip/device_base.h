// SPDX-License-Identifier: Apache-2.0
//
// DeviceBase: one HIP device, its context and its loss: what all that is kept for a device is made with. A result that
// says that the device is of no use any more loses it for good, and only what ends things is still called then.
#pragma once

#include "anyplace/backend/kit/device_base.h"
#include "context.h"
#include "error.h"

namespace anyplace::hip {

/// HIP's calls, as anyplace/backend/kit/device_base.h asks for them.
struct DeviceCalls {
  using Native = hipDevice_t;
  using Result = hipError_t;
  using Stream = hipStream_t;
  using Results = hip::Results;
  using Context = PrimaryContext;
  using ContextScope = hip::ContextScope;
  static constexpr const char* name = "hip";
  static constexpr const char* begin_call = "hipStreamCreateWithPriority";
  static constexpr const char* scope_call = "hipSetDevice";
  static constexpr const char* foreign = "";

  static hipError_t make_stream(hipStream_t& stream) noexcept {
    return driver().StreamCreateWithPriority(&stream, hipStreamNonBlocking, 0);
  }
  static hipError_t query(hipStream_t stream) noexcept { return driver().StreamQuery(stream); }
  static bool is_of(backend::DeviceBase<DeviceCalls>&, hipError_t) noexcept { return true; }
  static bool is_exit(hipError_t result) noexcept { return result == hipErrorDeinitialized; }
  static int attribute(hipDevice_t device, int attribute, int otherwise);
};

using DeviceBase = backend::DeviceBase<DeviceCalls>;
using DeviceScope = backend::DeviceScope<DeviceCalls>;
using EndScope = backend::EndScope<DeviceCalls>;

/// What the other structs of calls have in common.
struct Calls {
  using Device = DeviceBase;
  using Scope = DeviceScope;
  using End = EndScope;
};

}  // namespace anyplace::hip
