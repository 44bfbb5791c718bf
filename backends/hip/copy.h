// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills, in a stream's order. The core has checked sizes and ranges.
#pragma once

#include <cstdint>

#include "anyplace/backend/abi.h"

namespace anyplace::hip {

class Device;
class Stream;

/// `kind` is ANYPLACE_COPY_*.
void copy(const Stream& stream, anyplace_address destination, anyplace_address source, std::uint64_t bytes,
          std::uint32_t kind);
/// Line by line where HIP can't do it in one go.
void copy_2d(const Stream& stream, const anyplace_copy_2d& copy);
/// The stream is of either device.
void copy_peer(const Stream& stream, Device& destination_device, anyplace_address destination, Device& source_device,
               anyplace_address source, std::uint64_t bytes);
/// `count` elements of `width` 1, 2 or 4 bytes.
void fill(const Stream& stream, anyplace_address address, std::uint32_t value, std::uint32_t width,
          std::uint64_t count);

}  // namespace anyplace::hip
