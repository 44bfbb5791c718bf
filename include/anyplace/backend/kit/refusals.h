// SPDX-License-Identifier: Apache-2.0
//
// Arguments that every backend refuses before its vendor sees them, with the same text, as INVALID_ARGUMENT or
// UNSUPPORTED. `vendor` is the vendor's name in a sentence: "CUDA".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "../abi.h"
#include "results.h"

namespace anyplace::backend {

/// `kind` is not a known ANYPLACE_MEMORY_*.
[[noreturn]] inline void refuse_memory_kind(const char* vendor, std::uint32_t kind) {
  refuse(ANYPLACE_STATUS_UNSUPPORTED, kind == ANYPLACE_MEMORY_MANAGED
                                          ? "this device has no managed memory"
                                          : std::string(vendor) + " has no memory of kind " + std::to_string(kind));
}

/// `kind` is not a known ANYPLACE_COPY_*.
[[noreturn]] inline void refuse_copy_kind(const char* vendor, std::uint32_t kind) {
  refuse(ANYPLACE_STATUS_UNSUPPORTED, std::string(vendor) + " has no copy of kind " + std::to_string(kind));
}

/// `width` is not 1, 2 or 4.
[[noreturn]] inline void refuse_fill_width(const char* vendor, std::uint32_t width) {
  refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
         "elements of " + std::to_string(width) + " bytes; " + vendor + " fills with 1, 2 or 4");
}

/// The launch has more threads in a block than the kernel's `limit`.
[[noreturn]] inline void refuse_threads(const std::string& kernel, const anyplace_launch& launch, std::uint64_t limit) {
  refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
         "a block of " + std::to_string(launch.block[0]) + " x " + std::to_string(launch.block[1]) + " x " +
             std::to_string(launch.block[2]) + " threads; kernel " + kernel + " takes " + std::to_string(limit) +
             ", because of the registers it uses or the bounds it was compiled with");
}

/// The launch has more arguments than the backend takes.
[[noreturn]] inline void refuse_argument_count(const anyplace_launch& launch, std::uint32_t limit) {
  refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
         std::to_string(launch.argument_count) + " arguments; the limit is " + std::to_string(limit));
}

/// The threads of a block. Each factor is within the device's limits, so the product can't overflow.
inline std::uint64_t threads_of(const anyplace_launch& launch) noexcept {
  return std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
}

/// An argument of a launch. The stride is the caller's, whose anyplace_argument may be longer than this header's.
inline const anyplace_argument& argument_at(const anyplace_launch& launch, std::size_t index) noexcept {
  const auto* const bytes = reinterpret_cast<const std::byte*>(launch.arguments);
  return *reinterpret_cast<const anyplace_argument*>(bytes + index * launch.argument_stride);
}

}  // namespace anyplace::backend
