// SPDX-License-Identifier: Apache-2.0
#include "sharing.h"

namespace anyplace::hip {

hipMemAccessDesc SharingCalls::access_of(hipDevice_t device, bool may) noexcept {
  hipMemAccessDesc access{};
  access.location.type = hipMemLocationTypeDevice;
  access.location.id = device;
  access.flags = may ? hipMemAccessFlagsProtReadWrite : hipMemAccessFlagsProtNone;
  return access;
}

Called<hipError_t> SharingCalls::can_access(DeviceBase& device, DeviceBase& peer, bool& can) {
  int said = 0;
  const hipError_t result = driver().DeviceCanAccessPeer(&said, device.id(), peer.id());
  const bool is_told = !is_unimplemented(result);
  can = is_told && said != 0;
  return {is_told ? result : hipSuccess, "hipDeviceCanAccessPeer"};
}

Called<hipError_t> SharingCalls::enable(DeviceBase& reader, DeviceBase& owner, hipDevice_t context) {
  // CUDA has an error of its own for this; HIP reports an invalid device.
  if (!Sharing::can_access(reader, owner)) {
    refuse(ANYPLACE_STATUS_UNSUPPORTED, reader.place() + " has no way to the memory of " + owner.place());
  }
  return {driver().DeviceEnablePeerAccess(context, 0), "hipDeviceEnablePeerAccess"};
}

Called<hipError_t> SharingCalls::disable(hipDevice_t owner) noexcept {
  return {driver().DeviceDisablePeerAccess(owner), "hipDeviceDisablePeerAccess"};
}

}  // namespace anyplace::hip
