// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills of memory that Paddle names by its address, in the order of a stream. Paddle says of each address
// whose it is, so nothing is looked up: two vendors' devices may give the same address.
#pragma once

#include <cstdint>

#include <anyplace/device.h>
#include <anyplace/stream.h>

namespace anyplace_paddle {

/// All throw as the copies of anyplace::StreamView do. Nothing is waited for, but where host memory isn't pinned.
void copy_in(const anyplace::StreamView& stream, const anyplace::Device& device, void* destination, const void* source,
             std::uint64_t bytes);
void copy_out(const anyplace::StreamView& stream, const anyplace::Device& device, void* destination, const void* source,
              std::uint64_t bytes);
/// The stream is of one of the two devices, which may be the same or of two backends.
void copy_across(const anyplace::StreamView& stream, const anyplace::Device& destination_device, void* destination,
                 const anyplace::Device& source_device, const void* source, std::uint64_t bytes);
void fill(const anyplace::StreamView& stream, const anyplace::Device& device, void* destination, std::uint8_t value,
          std::uint64_t bytes);

}  // namespace anyplace_paddle
