// SPDX-License-Identifier: Apache-2.0
//
// Deferred frees: memory that its owner freed while work may still use it, on a backend that can't free in a stream's
// order, or where more than one stream uses it. It waits behind events until a later call finds them complete.
//
// Invariant: destroying a buffer waits for nothing. A vendor's own free may synchronise, so it is called only where the
// application expects to wait: when allocating, and when synchronising the device.
#pragma once

#include <cstdint>
#include <memory>

#include "memory/memory_state.h"

namespace anyplace::detail {

/// Makes the list of a DeviceState: made with the device, never destroyed. Calls no entry of the backend.
DeferredFrees* make_deferred_frees(DeviceState& device);

/// Records events behind the work that the buffer's streams have now, and leaves freeing the memory to a later call.
/// Doesn't wait. Inside a callback it may be called only for memory that no stream uses, which needs no entry of the
/// backend.
void free_later(std::unique_ptr<BufferState> buffer) noexcept;

/// Frees memory that no work uses any more. The vendor's free may synchronise. Allocations call this; it looks at a
/// limited number of entries.
void reap_deferred_frees(DeviceState& device) noexcept;

/// The same, but for what the vendor's free would have to be called for.
void reap_without_waiting(DeviceState& device) noexcept;

/// The same for all of them, and for those that other threads are just looking at, which it waits for, though not for
/// work. So what could be freed when it is called is free when it returns.
void reap_surely_without_waiting(DeviceState& device) noexcept;

/// As reap_deferred_frees, for all of them. For whoever just synchronised the device.
void drain_deferred_frees(DeviceState& device) noexcept;

/// Waits until all deferred frees are done, including those that the backend does in the order of streams. False if
/// there were none: then allocating again would fail again.
bool wait_for_deferred_frees(DeviceState& device) noexcept;

/// The same, and before that for all that ends later than the destructor of what owned it: graphs, what callbacks let
/// go of. For whoever is short of memory. Holds no lock, and isn't called inside callbacks.
bool wait_for_let_go(DeviceState& device) noexcept;

/// Ends as much of it as has no work left.
void end_let_go_without_waiting(DeviceState& device) noexcept;

/// Remembers, for wait_for_deferred_frees(), that the backend frees memory in the order of that stream.
void note_ordered_free(DeviceState& device, std::uint64_t stream_id) noexcept;

}  // namespace anyplace::detail
