// SPDX-License-Identifier: Apache-2.0
//
// DeviceBase: one HIP device with its context; the classes that keep something for a device are built on it. A result
// that says that the device can't be used any more loses it for good, and then only calls that end something are still
// made.
#pragma once

#include "anyplace/backend/kit/device_base.h"
#include "context.h"
#include "error.h"

namespace anyplace::hip {

/// The `Vendor` of anyplace/backend/kit/device_base.h for HIP.
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

/// The members that the other `Vendor` structs have in common.
struct Calls {
  using Device = DeviceBase;
  using Scope = DeviceScope;
  using End = EndScope;
};

}  // namespace anyplace::hip
