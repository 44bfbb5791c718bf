// SPDX-License-Identifier: Apache-2.0
//
// The steps that copies are made of. Arguments were checked and buffers are pinned by the caller; each of these
// submits, in order, also to a held stream.
#pragma once

#include <cstdint>

#include "backend.h"
#include "stream_state.h"

namespace anyplace::detail {

/// One copy on one device; bytes isn't 0. kind is ANYPLACE_COPY_*.
void submit_copy(StreamState& stream, anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                 std::uint32_t kind, const char* operation);

/// Lines on one device; none of the sizes is 0. Line by line where the device can't do better.
void submit_copy_2d(StreamState& stream, const anyplace_copy_2d& copy, const char* operation);

/// Lines between two devices that can't reach each other, of one backend or two; the stream is of either. Goes through
/// host memory, in pieces, and waits for nothing. copy.kind is not looked at. Defined in copy_staged.cpp.
void copy_staged(StreamState& stream, DeviceState& destination, DeviceState& source, const anyplace_copy_2d& copy,
                 const char* operation);
/// Frees the host memory that is kept for further copies and that no copy uses: for the exit.
void drop_staging() noexcept;

}  // namespace anyplace::detail
