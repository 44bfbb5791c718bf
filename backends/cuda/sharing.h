// SPDX-License-Identifier: Apache-2.0
//
// Sharing: the devices that have access to a device's memory.
#pragma once

#include "anyplace/backend/kit/sharing.h"
#include "device_base.h"

namespace anyplace::cuda {

/// The `Vendor` of anyplace/backend/kit/sharing.h for CUDA.
struct SharingCalls : Calls {
  using Access = CUmemAccessDesc;
  static constexpr CUresult already_enabled = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  static constexpr CUresult not_enabled = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;

  static CUmemAccessDesc access_of(CUdevice device, bool may) noexcept;
  static Called<CUresult> can_access(DeviceBase& device, DeviceBase& peer, bool& can);
  static Called<CUresult> enable(DeviceBase& reader, DeviceBase& owner, CUcontext context);
  static Called<CUresult> disable(CUcontext owner) noexcept;
};

using Sharing = backend::Sharing<SharingCalls>;

}  // namespace anyplace::cuda
