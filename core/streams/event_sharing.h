// SPDX-License-Identifier: Apache-2.0
//
// EventSharing: the additional state of an event that more than one process has. When such an event is destroyed in the
// process that made it, its backend's event is kept here until no other process has it open.
#pragma once

#include <optional>

#include "ipc/handle.h"
#include "streams/event_state.h"

namespace anyplace::detail {

struct EventSharing {
  // -- Used in the process that made the event.
  std::optional<Share> share;
  anyplace_ipc_handle exported{};
  // -- Used in processes that imported it.
  SharedUse use;

  // -- Set once the event was destroyed here; used by event_sharing.cpp alone.
  DeviceState* device = nullptr;
  anyplace_event handle = 0;
  EventSharing* next = nullptr;
};

/// Destroys the backend's events that no other process has open any more. Not called inside callbacks.
void collect_shared_events() noexcept;

}  // namespace anyplace::detail
