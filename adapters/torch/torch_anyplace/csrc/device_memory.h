// SPDX-License-Identifier: Apache-2.0
//
// Device memory of tensors: each storage's is an anyplace::Buffer on the stream that was current when it was made, from
// anyplace's caching allocator.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

namespace anyplace_torch {

/// The allocator that is registered for the device type.
c10::Allocator* device_allocator();

/// Says that work on `stream` uses the memory. What isn't this allocator's own (a wrapped address) is left alone: its
/// owner knows when it ends.
void record_on_stream(const c10::DataPtr& memory, const c10::Stream& stream);

}  // namespace anyplace_torch
