// SPDX-License-Identifier: Apache-2.0
//
// Access of a device to the memory of another one.
#include "device.h"
#include "entries.h"
#include "info.h"

namespace anyplace_ur {

namespace {

bool can_access(ur_device_handle_t_& device, ur_device_handle_t_& peer) {
  if (device.device.backend() != peer.device.backend() || device.device == peer.device) return false;
  return device.has(anyplace::Capability::peer_access) && device.device.can_access_peer(peer.device);
}

}  // namespace

ur_result_t urUsmP2PEnablePeerAccessExp(ur_device_handle_t device, ur_device_handle_t peer) {
  return guarded("urUsmP2PEnablePeerAccessExp", [&] {
    require_handle(device);
    require_handle(peer);
    device->device.enable_peer_access(peer->device);
  });
}

ur_result_t urUsmP2PDisablePeerAccessExp(ur_device_handle_t device, ur_device_handle_t peer) {
  return guarded("urUsmP2PDisablePeerAccessExp", [&] {
    require_handle(device);
    require_handle(peer);
    device->device.disable_peer_access(peer->device);
  });
}

ur_result_t urUsmP2PPeerAccessGetInfoExp(ur_device_handle_t device, ur_device_handle_t peer, ur_exp_peer_info_t name,
                                         size_t size, void* value, size_t* size_needed) {
  return guarded("urUsmP2PPeerAccessGetInfoExp", [&] {
    require_handle(device);
    require_handle(peer);
    const InfoWriter write(size, value, size_needed);
    switch (name) {
      case UR_EXP_PEER_INFO_UR_PEER_ACCESS_SUPPORT:
        return write(static_cast<int>(can_access(*device, *peer)));
      case UR_EXP_PEER_INFO_UR_PEER_ATOMICS_SUPPORT:
        return write(0);
      default:
        throw Failure(UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such query of two devices");
    }
  });
}

}  // namespace anyplace_ur
