// SPDX-License-Identifier: Apache-2.0
// A device's pool of events for deferred frees.
#pragma once

#include <memory>

#include "streams/event_state.h"

namespace anyplace::detail {

/// Makes the pool of a DeviceState, with the device. It is never destroyed. Calls no entry of the backend.
EventPool* make_event_pool();

/// Takes an event from the pool, or makes one. Throws if neither is possible.
std::unique_ptr<EventState> take_event(DeviceState& device);
/// Gives an event back to the pool. May be called on any thread, also under the allocator's lock.
void give_event(std::unique_ptr<EventState> event) noexcept;

/// Destroys the events in the pool, at exit: not every vendor's events end with their context.
void drop_idle_events(DeviceState& device) noexcept;

}  // namespace anyplace::detail
