// SPDX-License-Identifier: Apache-2.0
//
// Streams: torch's as anyplace's and back. A torch stream's number is the id of the anyplace stream, and 0 the device's
// null stream; so there is no table, and a number that never was a stream is an invalid_handle of anyplace's.
#pragma once

#include <anyplace/stream.h>
#include <c10/core/Stream.h>

#include "places.h"

namespace anyplace_torch {

anyplace::StreamView view_of(const c10::Stream& stream);
c10::Stream stream_of(c10::DeviceIndex index, anyplace::StreamView view);

/// The calling thread's current stream of a device.
anyplace::StreamView current_view(c10::DeviceIndex index);
/// Sets it, and returns the one before.
c10::Stream exchange_current(const c10::Stream& stream);

/// One of the device's streams of that priority, in turn. There are 32 of each, which are never destroyed: torch copies
/// streams about and tells nobody when the last copy is gone.
c10::Stream stream_from_pool(c10::DeviceIndex index, int priority);
/// The number of the highest priority.
int highest_priority(c10::DeviceIndex index);

}  // namespace anyplace_torch
