// SPDX-License-Identifier: Apache-2.0
#include "sharing.h"

namespace anyplace::cuda {

CUmemAccessDesc SharingCalls::access_of(CUdevice device, bool may) noexcept {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = may ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return access;
}

Called<CUresult> SharingCalls::can_access(DeviceBase& device, DeviceBase& peer, bool& can) {
  int said = 0;
  const CUresult result = driver().DeviceCanAccessPeer(&said, device.id(), peer.id());
  can = said != 0;
  return {result, "cuDeviceCanAccessPeer"};
}

Called<CUresult> SharingCalls::enable(DeviceBase&, DeviceBase&, CUcontext context) {
  return {driver().CtxEnablePeerAccess(context, 0), "cuCtxEnablePeerAccess"};
}

Called<CUresult> SharingCalls::disable(CUcontext owner) noexcept {
  return {driver().CtxDisablePeerAccess(owner), "cuCtxDisablePeerAccess"};
}

}  // namespace anyplace::cuda
