// SPDX-License-Identifier: Apache-2.0
//
// Transfers: bytes between host and device and between devices, in the order of streams. Device addresses are only ever
// passed on: nothing here, or above, reads or writes device memory from the host.
//
// All throw c10::Error, c10::OutOfMemoryError. Any thread may call them.
#pragma once

#include <anyplace/stream.h>
#include <c10/core/Device.h>

#include <cstdint>

namespace anyplace_torch {

/// `count` lines of `width` bytes. A pitch is the distance in bytes between the starts of two lines.
struct Rows {
  std::uint64_t width;
  std::uint64_t count;
  std::uint64_t destination_pitch;
  std::uint64_t source_pitch;

  static Rows flat(std::uint64_t bytes) { return {bytes, 1, bytes, bytes}; }
  /// From the first byte of the first line to the last of the last.
  std::uint64_t destination_span() const { return (count - 1) * destination_pitch + width; }
  std::uint64_t source_span() const { return (count - 1) * source_pitch + width; }
};

/// From host memory, on the current stream of the device. With `wait` the source may be overwritten or freed when it
/// returns. Without, it may not before the copy is done, and must be pinned.
void upload(c10::DeviceIndex index, void* destination, const void* source, const Rows& rows, bool wait);
/// To host memory, on the current stream of the device. With `wait` the bytes are there when it returns.
void download(c10::DeviceIndex index, void* destination, const void* source, const Rows& rows, bool wait);

/// Which devices the two sides are of; the stream is of one of them.
struct DeviceRoute {
  anyplace::StreamView stream;
  c10::DeviceIndex destination;
  c10::DeviceIndex source;
};
/// Submits; doesn't wait.
void copy_device_to_device(const DeviceRoute& route, void* destination, const void* source, const Rows& rows);

/// Repeats the pattern (1, 2, 4, 8 or 16 bytes) over `bytes`, a multiple of its size, on the current stream. Doesn't
/// wait.
void fill(c10::DeviceIndex index, void* destination, const void* pattern, std::uint64_t pattern_bytes,
          std::uint64_t bytes);

}  // namespace anyplace_torch
