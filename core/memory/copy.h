// SPDX-License-Identifier: Apache-2.0
//
// The steps that copies consist of. The caller has checked the arguments and pins the buffers. Each step submits in the
// stream's order, also to a held stream.
#pragma once

#include <cstdint>

#include "runtime/backend.h"
#include "streams/stream_state.h"

namespace anyplace::detail {

/// Copies lines on one device; none of the sizes is 0. copy.kind is ANYPLACE_COPY_*. If the device can't copy lines,
/// each line is a separate copy.
void submit_copy_2d(StreamState& stream, const anyplace_copy_2d& copy, const char* operation);

/// Copies lines between two devices of one or two backends that can't reach each other; the stream belongs to either.
/// The copy goes through host memory, in pieces, and doesn't block the caller. copy.kind isn't used. Defined in
/// copy_staged.cpp.
void copy_staged(StreamState& stream, DeviceState& destination, DeviceState& source, const anyplace_copy_2d& copy,
                 const char* operation);
/// Frees, at exit, the host memory that is kept for later copies and that no copy uses.
void drop_staging() noexcept;

}  // namespace anyplace::detail
