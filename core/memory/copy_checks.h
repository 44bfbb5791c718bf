// SPDX-License-Identifier: Apache-2.0
//
// The checks of sizes and addresses of copies and fills. The comparisons are inline; the refusals, which throw
// invalid_argument, are in copy_checks.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "anyplace/memory.h"
#include "runtime/backend.h"

namespace anyplace::detail {

[[noreturn]] void refuse_sizes(std::uint64_t destination, std::uint64_t source, const DeviceState& device,
                               const char* operation);
[[noreturn]] void refuse_null(std::uint64_t bytes, const char* side, const DeviceState& device, const char* operation);
/// `side` is on `other`, and the stream is on `device`.
[[noreturn]] void refuse_device(const char* side, const DeviceState& other, const DeviceState& device,
                                const char* operation);
/// Neither side is on the stream's device.
[[noreturn]] void refuse_devices(const DeviceState& destination, const DeviceState& source, const DeviceState& device,
                                 const char* operation);
[[noreturn]] void refuse_overlap(anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                                 const DeviceState& device, const char* operation);
/// The lines don't lie within `bytes`, or their pitch is less than their width.
[[noreturn]] void refuse_lines(std::uint64_t pitch, std::uint64_t width, std::uint64_t rows, std::uint64_t bytes,
                               const char* side, const DeviceState& device, const char* operation);
/// A range by address begins in an allocation and ends beyond it.
[[noreturn]] void refuse_beyond(const char* side, anyplace_address address, std::uint64_t bytes,
                                anyplace_address allocation, std::uint64_t allocated, const DeviceState& device,
                                const char* operation);
/// A range by address wraps around.
[[noreturn]] void refuse_wrapping(const char* side, anyplace_address address, std::uint64_t bytes,
                                  const DeviceState& device, const char* operation);
[[noreturn]] void refuse_pattern(std::uint64_t pattern_bytes, const DeviceState& device, const char* operation);
/// The size of a fill isn't a multiple of the pattern.
[[noreturn]] void refuse_rest(std::uint64_t bytes, std::uint64_t pattern_bytes, const DeviceState& device,
                              const char* operation);
[[noreturn]] void refuse_elements(std::uint64_t bytes, anyplace_address address, std::uint32_t width,
                                  const DeviceState& device, const char* operation);

/// Whether two ranges share a byte. They must not be empty nor wrap around.
inline bool overlap(anyplace_address a, std::uint64_t a_bytes, anyplace_address b, std::uint64_t b_bytes) noexcept {
  return a < b ? b - a < a_bytes : a - b < b_bytes;
}
/// Whether two lines of a copy share a byte, if the ranges from the first line to the last one do. Both sides are
/// within a buffer; width and rows aren't 0.
bool lines_overlap(const anyplace_copy_2d& copy) noexcept;

/// Throws unless the lines lie within `bytes`. width and rows aren't 0.
[[gnu::always_inline]] inline void require_lines_within(std::uint64_t pitch, std::uint64_t width, std::uint64_t rows,
                                                        std::uint64_t bytes, const char* side,
                                                        const DeviceState& device, const char* operation) {
  std::uint64_t needed = 0;
  const bool too_many =
      __builtin_mul_overflow(pitch, rows - 1, &needed) || __builtin_add_overflow(needed, width, &needed);
  if (too_many || pitch < width || needed > bytes) [[unlikely]]
    refuse_lines(pitch, width, rows, bytes, side, device, operation);
}

// ---- Shapes of copies ----------------------------------------------------------------------------------------------
// check() throws unless the shape fits both sides; it returns false if there is nothing to copy.

/// A copy of all bytes of both sides.
struct WholeCopy {
  std::uint64_t bytes = 0;

  bool check(std::uint64_t destination, std::uint64_t source, const DeviceState& device, const char* operation) {
    if (destination != source) [[unlikely]]
      refuse_sizes(destination, source, device, operation);
    bytes = source;
    return bytes != 0;
  }
  bool overlaps(anyplace_address destination, anyplace_address source) const noexcept {
    return overlap(destination, bytes, source, bytes);
  }
  /// The bytes from the first to the last one on the larger side.
  std::uint64_t largest() const noexcept { return bytes; }
  anyplace_copy_2d as_lines(std::uint32_t kind, anyplace_address destination, anyplace_address source) const noexcept {
    return {sizeof(anyplace_copy_2d), kind, destination, bytes, source, bytes, bytes, 1};
  }
};

struct LineCopy {
  std::uint64_t destination_pitch;
  std::uint64_t source_pitch;
  std::uint64_t width;
  std::uint64_t rows;

  [[gnu::always_inline]] bool check(std::uint64_t destination, std::uint64_t source, const DeviceState& device,
                                    const char* operation) const {
    if (width == 0 || rows == 0) return false;
    require_lines_within(destination_pitch, width, rows, destination, "destination", device, operation);
    require_lines_within(source_pitch, width, rows, source, "source", device, operation);
    return true;
  }
  bool overlaps(anyplace_address destination, anyplace_address source) const noexcept {
    return overlap(destination, (rows - 1) * destination_pitch + width, source, (rows - 1) * source_pitch + width) &&
           lines_overlap(as_lines(ANYPLACE_COPY_DEVICE_TO_DEVICE, destination, source));
  }
  std::uint64_t largest() const noexcept { return (rows - 1) * std::max(destination_pitch, source_pitch) + width; }
  anyplace_copy_2d as_lines(std::uint32_t kind, anyplace_address destination, anyplace_address source) const noexcept {
    return {sizeof(anyplace_copy_2d), kind, destination, destination_pitch, source, source_pitch, width, rows};
  }
};

}  // namespace anyplace::detail
