// SPDX-License-Identifier: Apache-2.0
//
// Sharing: the devices that have access to a device's memory.
#pragma once

#include "anyplace/backend/kit/sharing.h"
#include "device_base.h"

namespace anyplace::hip {

/// The `Vendor` of anyplace/backend/kit/sharing.h for HIP.
struct SharingCalls : Calls {
  using Access = hipMemAccessDesc;
  static constexpr hipError_t already_enabled = hipErrorPeerAccessAlreadyEnabled;
  static constexpr hipError_t not_enabled = hipErrorPeerAccessNotEnabled;

  static hipMemAccessDesc access_of(hipDevice_t device, bool may) noexcept;
  static Called<hipError_t> can_access(DeviceBase& device, DeviceBase& peer, bool& can);
  static Called<hipError_t> enable(DeviceBase& reader, DeviceBase& owner, hipDevice_t context);
  static Called<hipError_t> disable(hipDevice_t owner) noexcept;
};

using Sharing = backend::Sharing<SharingCalls>;

}  // namespace anyplace::hip
