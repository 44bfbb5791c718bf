// SPDX-License-Identifier: Apache-2.0
//
// EventSharing: what an event keeps that more than one process has. The backend's event of the process that made it is
// destroyed when no other process has it open any more; until then it is kept here.
#pragma once

#include <optional>

#include "ipc/handle.h"
#include "streams/event_state.h"

namespace anyplace::detail {

struct EventSharing {
  // -- In the process that made the event.
  std::optional<Share> share;
  anyplace_ipc_handle exported{};
  // -- In the others.
  SharedUse use;

  // -- Used by event_sharing.cpp alone, once the event was destroyed.
  DeviceState* device = nullptr;
  anyplace_event handle = 0;
  EventSharing* next = nullptr;
};

/// Destroys the backend's events that no other process has open any more. Not called inside callbacks.
void collect_shared_events() noexcept;

}  // namespace anyplace::detail
