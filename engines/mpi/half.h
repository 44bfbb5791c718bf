// SPDX-License-Identifier: Apache-2.0
// Half precision as the host computes with it: to float, and back, to the nearest and to even where two are as near.
#pragma once

#include <bit>
#include <cstdint>

namespace anyplace::mpi {

inline float from_bf16(std::uint16_t bits) noexcept { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

inline std::uint16_t to_bf16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);  // stays a NaN
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

inline float from_f16(std::uint16_t bits) noexcept {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t rest = bits & 0x7fffu;
  if (rest >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  if (rest >= 0x0400u) return std::bit_cast<float>(sign | ((rest << 13) + (112u << 23)));
  // Subnormal: rest * 2^-24, which a float holds exactly.
  const float value = static_cast<float>(rest) * std::bit_cast<float>(std::uint32_t{103u << 23});
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
}

inline std::uint16_t to_f16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  const std::uint32_t rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (rest >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to what f16 hasn't
  if (rest >= 0x38800000u) {
    return static_cast<std::uint16_t>(sign | ((rest - (112u << 23) + 0xfffu + (rest >> 13 & 1u)) >> 13));
  }
  // Subnormal: adding 0.5 shifts the bits to where a float's own rounding cuts them.
  const float shifted = std::bit_cast<float>(rest) + 0.5f;
  return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
}

}  // namespace anyplace::mpi
