// SPDX-License-Identifier: Apache-2.0
#include "sharing.h"

#include <algorithm>

#include "device.h"

namespace anyplace::hip {

hipMemAccessDesc Sharing::access_of(hipDevice_t device, hipMemAccessFlags flags) noexcept {
  hipMemAccessDesc access{};
  access.location.type = hipMemLocationTypeDevice;
  access.location.id = device;
  access.flags = flags;
  return access;
}

bool Sharing::can_access(Device& device, Device& peer) {
  int can = 0;
  const hipError_t result = driver().DeviceCanAccessPeer(&can, device.id(), peer.id());
  if (is_unimplemented(result)) return false;
  if (result != hipSuccess) device.fail_with(result, "hipDeviceCanAccessPeer", peer);
  return can != 0;
}

void Sharing::enable(Device& reader) {
  hipDevice_t const owner = reader.context_of(owner_);
  // Where CUDA has an error of its own for it, HIP calls the device invalid.
  if (!can_access(reader, owner_)) {
    refuse(ANYPLACE_STATUS_UNSUPPORTED, "hip:" + std::to_string(reader.index()) +
                                            " has no way to the memory of hip:" + std::to_string(owner_.index()));
  }
  const DeviceScope scope(reader);
  const std::lock_guard lock(mutex_);
  const bool known =
      std::any_of(readers_.begin(), readers_.end(), [&](const Reader& each) { return each.device == reader.id(); });
  if (known) return;
  readers_.reserve(readers_.size() + 1);
  const hipError_t result = driver().DeviceEnablePeerAccess(owner, 0);
  const bool ours = result != hipErrorPeerAccessAlreadyEnabled;
  if (ours && result != hipSuccess) reader.fail_with(result, "hipDeviceEnablePeerAccess", owner_);
  try {
    set(reader, hipMemAccessFlagsProtReadWrite);
  } catch (...) {
    if (ours) ignore(driver().DeviceDisablePeerAccess(owner));
    throw;
  }
  readers_.push_back({reader.id(), ours});
}

void Sharing::disable(Device& reader) {
  hipDevice_t const owner = reader.context_of(owner_);
  const DeviceScope scope(reader);
  const std::lock_guard lock(mutex_);
  const auto known =
      std::find_if(readers_.begin(), readers_.end(), [&](const Reader& each) { return each.device == reader.id(); });
  if (known == readers_.end()) return;
  const bool ours = known->ours;
  readers_.erase(known);
  set(reader, hipMemAccessFlagsProtNone);
  if (!ours) return;
  const hipError_t result = driver().DeviceDisablePeerAccess(owner);
  if (result == hipErrorPeerAccessNotEnabled) return;
  if (result != hipSuccess) reader.fail_with(result, "hipDeviceDisablePeerAccess", owner_);
}

void Sharing::set(Device& reader, hipMemAccessFlags flags) {
  const hipMemAccessDesc access = access_of(reader.id(), flags);
  owner_.memory().set_access(access, reader);
  owner_.virtual_memory().set_access(access, reader);
}

}  // namespace anyplace::hip
