// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills in a stream's order. The core has checked sizes and ranges.
//
// Level Zero copies only memory that the device can reach. Host memory that wasn't allocated by Level Zero is copied
// through the stream's staging memory, which the helper thread fills or empties in the stream's order. So such copies
// are asynchronous too, but slower.
#pragma once

#include <cstdint>

#include "anyplace/backend/abi.h"

namespace anyplace::levelzero {

class Device;
class Stream;

struct Copies {
  /// `kind` is ANYPLACE_COPY_*.
  static void copy(Stream& stream, anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                   std::uint32_t kind);
  static void copy_2d(Stream& stream, const anyplace_copy_2d& copy);
  /// The stream belongs to either device. The devices can reach each other's memory.
  static void copy_peer(Stream& stream, const Device& destination_device, anyplace_address destination,
                        const Device& source_device, anyplace_address source, std::uint64_t bytes);
  /// Sets `count` elements of `width` 1, 2 or 4 bytes.
  static void fill(Stream& stream, anyplace_address address, std::uint32_t value, std::uint32_t width,
                   std::uint64_t count);
};

/// The length of the fill's pattern in bytes: elements whose bytes are all equal are filled byte by byte. Throws
/// INVALID_ARGUMENT for another width than 1, 2 or 4.
std::uint32_t fill_pattern_bytes(std::uint32_t value, std::uint32_t width);

}  // namespace anyplace::levelzero
