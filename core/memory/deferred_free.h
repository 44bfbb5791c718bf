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

/// Makes the list of a DeviceState, with the device. It is never destroyed. Calls no entry of the backend.
DeferredFrees* make_deferred_frees(DeviceState& device);

/// Records events behind the present work of the buffer's streams, and leaves freeing the memory to a later call.
/// Doesn't wait. Inside a callback it may be called only for memory that no stream uses, which needs no entry of the
/// backend.
void free_later(std::unique_ptr<BufferState> buffer) noexcept;

/// Frees memory that no work uses any more. The vendor's free may synchronise. Allocations call this; it looks at a
/// limited number of entries.
void reap_deferred_frees(DeviceState& device) noexcept;

/// Frees memory that no work uses any more, except where the vendor's free would have to be called.
void reap_without_waiting(DeviceState& device) noexcept;

/// Like reap_without_waiting(), for all entries. It waits for other threads that are looking at entries, though not for
/// work. So everything that could be freed at the call is free at the return.
void reap_surely_without_waiting(DeviceState& device) noexcept;

/// Like reap_deferred_frees(), for all entries. Called after the device was synchronised.
void drain_deferred_frees(DeviceState& device) noexcept;

/// Waits until all deferred frees are done, including those that the backend does in the order of streams. Returns
/// false if there were none: then allocating again would fail again.
bool wait_for_deferred_frees(DeviceState& device) noexcept;

/// Like wait_for_deferred_frees(), and first waits for everything that ends later than its owner's destructor: graphs,
/// and objects that callbacks released. Called when memory is short. The caller holds no lock and isn't inside a
/// callback.
bool wait_for_let_go(DeviceState& device) noexcept;

/// Ends as many of those objects as have no work left, without waiting.
void end_let_go_without_waiting(DeviceState& device) noexcept;

/// Remembers, for wait_for_deferred_frees(), that the backend frees memory in the order of that stream.
void note_ordered_free(DeviceState& device, std::uint64_t stream_id) noexcept;

}  // namespace anyplace::detail
