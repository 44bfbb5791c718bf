// SPDX-License-Identifier: Apache-2.0
//
// DeviceBase: one CUDA device with its context; the classes that keep something for a device are built on it. A result
// that CUDA calls sticky loses the device for good, and then only calls that end something are still made.
#pragma once

#include "anyplace/backend/kit/device_base.h"
#include "context.h"
#include "error.h"

namespace anyplace::cuda {

/// The `Vendor` of anyplace/backend/kit/device_base.h for CUDA.
struct DeviceCalls {
  using Native = CUdevice;
  using Result = CUresult;
  using Stream = CUstream;
  using Results = cuda::Results;
  using Context = PrimaryContext;
  using ContextScope = cuda::ContextScope;
  static constexpr const char* name = "cuda";
  static constexpr const char* begin_call = "cuDevicePrimaryCtxRetain";
  static constexpr const char* scope_call = "cuCtxPushCurrent";
  static constexpr const char* foreign =
      "not this device, but another context, which is current to this thread, failed or was destroyed: whoever left it "
      "there has to pop it (cuCtxPopCurrent)";

  static CUresult make_stream(CUstream& stream) noexcept {
    return driver().StreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
  }
  static CUresult query(CUstream stream) noexcept { return driver().StreamQuery(stream); }
  /// If another context is current it may be the one that failed, so this device is queried.
  static bool is_of(backend::DeviceBase<DeviceCalls>& device, CUresult result) noexcept;
  static bool is_exit(CUresult result) noexcept { return result == CUDA_ERROR_DEINITIALIZED; }
  static int attribute(CUdevice device, int attribute, int otherwise);
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

}  // namespace anyplace::cuda
