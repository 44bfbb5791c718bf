// SPDX-License-Identifier: Apache-2.0
// The errors for copies and fills whose arguments don't fit.
#include "memory/copy_checks.h"

#include <fmt/format.h>

#include <string>

#include "runtime/call.h"

namespace anyplace::detail {

void refuse_sizes(std::uint64_t destination, std::uint64_t source, const DeviceState& device, const char* operation) {
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("the destination has {} bytes and the source {}\nboth sides of a copy have the same size",
                   destination, source));
}

void refuse_null(std::uint64_t bytes, const char* side, const DeviceState& device, const char* operation) {
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("the {}'s pointer is null, with {} bytes to copy", side, bytes));
}

void refuse_device(const char* side, const DeviceState& other, const DeviceState& device, const char* operation) {
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("the {} is a buffer of {}, and the stream is of {}\nuse a stream of {}", side, other.place,
                   device.place, other.place));
}

void refuse_devices(const DeviceState& destination, const DeviceState& source, const DeviceState& device,
                    const char* operation) {
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("the copy is from a buffer of {} to one of {}, and the stream is of {}\nuse a stream of {} or {}",
                   source.place, destination.place, device.place, source.place, destination.place));
}

void refuse_overlap(anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                    const DeviceState& device, const char* operation) {
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("the destination from address {:#x} and the source from {:#x} overlap within {} bytes\ncopy through "
                   "other memory",
                   destination, source, bytes));
}

void refuse_lines(std::uint64_t pitch, std::uint64_t width, std::uint64_t rows, std::uint64_t bytes, const char* side,
                  const DeviceState& device, const char* operation) {
  if (pitch < width) {
    fail(ErrorCode::invalid_argument, device.place, operation,
         fmt::format("the {}'s pitch of {} bytes is less than the width of {} bytes\na pitch is the bytes from one "
                     "line's start to the next's",
                     side, pitch, width));
  }
  std::uint64_t needed = 0;
  const bool too_many =
      __builtin_mul_overflow(pitch, rows - 1, &needed) || __builtin_add_overflow(needed, width, &needed);
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("{} lines of {} bytes with a pitch of {} need {} bytes, and the {} has {}", rows, width, pitch,
                   too_many ? std::string("more than 2^64") : std::to_string(needed), side, bytes));
}

void refuse_beyond(const char* side, anyplace_address address, std::uint64_t bytes, anyplace_address allocation,
                   std::uint64_t allocated, const DeviceState& device, const char* operation) {
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("the {} of {} bytes from address {:#x} reaches beyond its allocation, which has {} bytes from {:#x}",
                   side, bytes, address, allocated, allocation));
}

void refuse_wrapping(const char* side, anyplace_address address, std::uint64_t bytes, const DeviceState& device,
                     const char* operation) {
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("the {} of {} bytes from address {:#x} reaches beyond the end of the address space", side, bytes,
                   address));
}

void refuse_pattern(std::uint64_t pattern_bytes, const DeviceState& device, const char* operation) {
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("a pattern of {} bytes can't be filled with\nit has 1, 2, 4, 8, 16, 32, 64 or 128 bytes",
                   pattern_bytes));
}

void refuse_rest(std::uint64_t bytes, std::uint64_t pattern_bytes, const DeviceState& device, const char* operation) {
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("{} bytes are no whole number of patterns of {} bytes", bytes, pattern_bytes));
}

void refuse_elements(std::uint64_t bytes, anyplace_address address, std::uint32_t width, const DeviceState& device,
                     const char* operation) {
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("{} bytes at address {:#x} can't be filled element by element\nsize and address have to be "
                   "multiples of the element's {} bytes",
                   bytes, address, width));
}

bool lines_overlap(const anyplace_copy_2d& copy) noexcept {
  const std::uint64_t width = copy.width;
  const std::uint64_t last = copy.rows - 1;
  if (copy.destination_pitch == copy.source_pitch) {
    // A line of one side has a fixed distance from every line of the other, so only the two nearest lines can overlap
    // it.
    const std::uint64_t distance =
        copy.destination < copy.source ? copy.source - copy.destination : copy.destination - copy.source;
    const std::uint64_t lines = distance / copy.source_pitch;
    const std::uint64_t rest = distance % copy.source_pitch;
    return (lines <= last && rest < width) || (lines + 1 <= last && copy.source_pitch - rest < width);
  }
  std::uint64_t i = 0;
  std::uint64_t j = 0;
  while (i <= last && j <= last) {
    const anyplace_address to = copy.destination + i * copy.destination_pitch;
    const anyplace_address from = copy.source + j * copy.source_pitch;
    if (overlap(to, width, from, width)) return true;
    (to < from ? i : j) += 1;
  }
  return false;
}

}  // namespace anyplace::detail
