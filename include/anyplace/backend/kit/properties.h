// SPDX-License-Identifier: Apache-2.0
//
// Helpers that fill anyplace_device_properties in the same way for all backends: bits, figures and texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "../abi.h"

namespace anyplace::backend {

/// The bit of a number, in capabilities and in image_formats.
constexpr std::uint64_t bit(unsigned number) noexcept { return std::uint64_t{1} << number; }

/// The capabilities of every device of a ContextBackend.
constexpr std::uint64_t context_backend_capabilities =
    bit(ANYPLACE_CAPABILITY_BIT_BLOCKING_STREAMS) | bit(ANYPLACE_CAPABILITY_BIT_PINNED_MEMORY) |
    bit(ANYPLACE_CAPABILITY_BIT_COPY_2D) | bit(ANYPLACE_CAPABILITY_BIT_PEER_COPY) |
    bit(ANYPLACE_CAPABILITY_BIT_PEER_ACCESS) | bit(ANYPLACE_CAPABILITY_BIT_MODULES);

/// A vendor's figure of something that a device has at least one of; 1 if the figure can't be right.
constexpr std::uint32_t at_least_one(int value) noexcept { return value > 0 ? static_cast<std::uint32_t>(value) : 1; }
/// A vendor's figure that can't be negative; 0 if it is.
constexpr std::uint64_t not_negative(int value) noexcept { return value > 0 ? static_cast<std::uint64_t>(value) : 0; }

/// Fills the three sizes of a grid or block with `ask(attribute)`.
template <class Attribute, class Ask>
void set_launch_limits(anyplace_device_properties& out, const Attribute (&grid)[3], const Attribute (&block)[3],
                       Ask&& ask) {
  for (int i = 0; i < 3; ++i) {
    out.max_grid[i] = at_least_one(ask(grid[i]));
    out.max_block[i] = at_least_one(ask(block[i]));
  }
}

/// Two hexadecimal digits for each byte: "8932f937d72c".
inline std::string hex_text(std::span<const char> bytes) {
  std::string text;
  for (const char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    text += digits;
  }
  return text;
}

/// The address in the small letters that the kernel's own paths have: "0000:17:00.0".
inline std::string pci_text(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace anyplace::backend
