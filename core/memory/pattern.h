// SPDX-License-Identifier: Apache-2.0
// Patterns of fills: whether one repeats a word that backends can fill with.
#pragma once

#include <cstdint>
#include <cstring>

namespace anyplace::detail {

constexpr std::uint64_t widest_pattern = 128;

/// Whether a pattern repeats its first `width` bytes.
inline bool repeats(const unsigned char* pattern, std::uint32_t size, std::uint32_t width) noexcept {
  return size % width == 0 && std::memcmp(pattern, pattern + width, size - width) == 0;
}

/// The width of the narrowest word that the pattern repeats and that a fill at `address` may have; 0 if there is none.
inline std::uint32_t word_of(const unsigned char* pattern, std::uint32_t size, std::uint64_t address) noexcept {
  for (const std::uint32_t width : {1U, 2U, 4U}) {
    if (size % width == 0 && address % width == 0 && repeats(pattern, size, width)) return width;
  }
  return 0;
}

/// The widest word that divides the pattern's size and that a fill at `address` may have.
inline std::uint32_t widest_word(std::uint32_t size, std::uint64_t address) noexcept {
  const auto fits = [&](std::uint32_t width) { return size % width == 0 && address % width == 0; };
  return fits(4) ? 4 : fits(2) ? 2 : 1;
}

}  // namespace anyplace::detail
