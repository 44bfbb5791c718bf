// SPDX-License-Identifier: Apache-2.0
#include "copy.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "failure.h"

namespace anyplace::cpu_sim {
namespace {

// Smaller pieces of a copy aren't worth cutting off.
constexpr std::uint64_t grain_bytes = 256 << 10;

std::byte* at(anyplace_address address) noexcept { return backend::from_handle<std::byte>(address); }

template <class T>
void fill(anyplace_address address, std::uint32_t value, std::uint64_t begin, std::uint64_t end) noexcept {
  T* elements = backend::from_handle<T>(address);
  std::fill(elements + begin, elements + end, static_cast<T>(value));
}

}  // namespace

Spreadable::Extent Copy::extent() const noexcept { return {bytes_, grain_bytes}; }

void Copy::run_units(std::uint64_t begin, std::uint64_t end, std::atomic<bool>&) noexcept {
  std::memcpy(at(destination_) + begin, at(source_) + begin, end - begin);
}

Spreadable::Extent Copy2d::extent() const noexcept { return {rows_, std::max<std::uint64_t>(1, grain_bytes / width_)}; }

void Copy2d::run_units(std::uint64_t begin, std::uint64_t end, std::atomic<bool>&) noexcept {
  for (std::uint64_t row = begin; row < end; ++row) {
    std::memcpy(at(destination_) + row * destination_pitch_, at(source_) + row * source_pitch_, width_);
  }
}

Spreadable::Extent Fill::extent() const noexcept { return {count_, grain_bytes / width_}; }

void Fill::run_units(std::uint64_t begin, std::uint64_t end, std::atomic<bool>&) noexcept {
  switch (width_) {
    case 1:
      return fill<std::uint8_t>(address_, value_, begin, end);
    case 2:
      return fill<std::uint16_t>(address_, value_, begin, end);
    default:
      return fill<std::uint32_t>(address_, value_, begin, end);
  }
}

void check_copy_kind(std::uint32_t kind) {
  if (kind < ANYPLACE_COPY_HOST_TO_DEVICE || kind > ANYPLACE_COPY_DEVICE_TO_DEVICE) {
    bad_argument("there is no copy kind " + std::to_string(kind));
  }
}

void check_copy_2d(const anyplace_copy_2d& copy) {
  check_copy_kind(copy.kind);
  if (copy.width == 0 || copy.rows == 0) bad_argument("a 2D copy of 0 bytes");
  if (copy.destination_pitch < copy.width || copy.source_pitch < copy.width) {
    bad_argument("a 2D copy of rows of " + std::to_string(copy.width) + " bytes has pitches of " +
                 std::to_string(copy.destination_pitch) + " and " + std::to_string(copy.source_pitch) + " bytes");
  }
}

void check_fill(anyplace_address address, std::uint32_t width) {
  if (width != 1 && width != 2 && width != 4) {
    bad_argument("elements to fill are 1, 2 or 4 bytes wide, not " + std::to_string(width));
  }
  if (address % width != 0) {
    bad_argument(hex(address) + " is not aligned to elements of " + std::to_string(width) + " bytes");
  }
}

}  // namespace anyplace::cpu_sim
