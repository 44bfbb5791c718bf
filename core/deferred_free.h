// SPDX-License-Identifier: Apache-2.0
//
// Deferred frees: memory that its owner gave up while work may still use it, on a backend that can't free in a stream's
// order, or used by more than one stream. It waits behind events until somebody looks again.
//
// Invariant: destroying a buffer waits for nothing. A vendor's own free may synchronise, so it is called only from
// where the application expects to wait: allocating, and synchronising the device.
#pragma once

#include <cstdint>
#include <memory>

#include "memory_state.h"

namespace anyplace::detail {

/// What a DeviceState points to: made with the device, never destroyed. Calls no entry of the backend.
DeferredFrees* make_deferred_frees(DeviceState& device);

/// Puts events behind the work that the buffer's streams have by now, and leaves the memory to a later call. Doesn't
/// wait. Inside a callback only for memory without streams: no entry of the backend is called for that.
void free_later(std::unique_ptr<BufferState> buffer) noexcept;

/// Frees what no work uses any more, and calls the vendor's free for it, which may synchronise. Looks at a bounded
/// number. For allocations.
void reap_deferred_frees(DeviceState& device) noexcept;

/// The same for all of them. For whoever just synchronised the device.
void drain_deferred_frees(DeviceState& device) noexcept;

/// Waits until everything that was given up is free, also what the backend itself frees in the order of streams. False
/// if there was nothing: allocating again is of no use.
bool wait_for_deferred_frees(DeviceState& device) noexcept;

/// An event that is kept for such use, or a new one. Throws.
std::unique_ptr<EventState> take_event(DeviceState& device);
/// The way back. Any thread, also under the allocator's lock.
void give_event(std::unique_ptr<EventState> event) noexcept;

/// Destroys the events that are kept for later frees: for the exit, since not every vendor's go with a context.
void drop_idle_events(DeviceState& device) noexcept;

/// Remembers that memory becomes free in the order of that stream, for wait_for_deferred_frees.
void note_ordered_free(DeviceState& device, std::uint64_t stream_id) noexcept;

}  // namespace anyplace::detail
