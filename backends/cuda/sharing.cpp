// SPDX-License-Identifier: Apache-2.0
#include "sharing.h"

#include <algorithm>

#include "device.h"

namespace anyplace::cuda {

CUmemAccessDesc Sharing::access_of(CUdevice device, CUmemAccess_flags flags) noexcept {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = flags;
  return access;
}

bool Sharing::can_access(Device& device, Device& peer) {
  int can = 0;
  const CUresult result = driver().DeviceCanAccessPeer(&can, device.id(), peer.id());
  if (result != CUDA_SUCCESS) device.fail_with(result, "cuDeviceCanAccessPeer", peer);
  return can != 0;
}

void Sharing::enable(Device& reader) {
  CUcontext const owner = reader.context_of(owner_);
  const DeviceScope scope(reader);
  const std::lock_guard lock(mutex_);
  const bool known =
      std::any_of(readers_.begin(), readers_.end(), [&](const Reader& each) { return each.device == reader.id(); });
  if (known) return;
  readers_.reserve(readers_.size() + 1);
  const CUresult result = driver().CtxEnablePeerAccess(owner, 0);
  const bool ours = result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  if (ours && result != CUDA_SUCCESS) reader.fail_with(result, "cuCtxEnablePeerAccess", owner_);
  try {
    set(reader, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  } catch (...) {
    if (ours) driver().CtxDisablePeerAccess(owner);
    throw;
  }
  readers_.push_back({reader.id(), ours});
}

void Sharing::disable(Device& reader) {
  CUcontext const owner = reader.context_of(owner_);
  const DeviceScope scope(reader);
  const std::lock_guard lock(mutex_);
  const auto known =
      std::find_if(readers_.begin(), readers_.end(), [&](const Reader& each) { return each.device == reader.id(); });
  if (known == readers_.end()) return;
  const bool ours = known->ours;
  readers_.erase(known);
  set(reader, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  if (!ours) return;
  const CUresult result = driver().CtxDisablePeerAccess(owner);
  if (result == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED) return;
  if (result != CUDA_SUCCESS) reader.fail_with(result, "cuCtxDisablePeerAccess", owner_);
}

void Sharing::set(Device& reader, CUmemAccess_flags flags) {
  const CUmemAccessDesc access = access_of(reader.id(), flags);
  owner_.memory().set_access(access, reader);
  owner_.virtual_memory().set_access(access, reader);
}

}  // namespace anyplace::cuda
