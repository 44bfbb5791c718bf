// SPDX-License-Identifier: Apache-2.0
//
// The two floating-point formats of 16 bits: how an element that is stored in one of them becomes the float that it is
// computed with, and how it is stored again. For kernels and for the host; without branches, so that the host's
// compiler makes vectors of loops over them.
//
// Loading is exact. Storing rounds to the nearest number, and to the even one of two that are as near; what is too
// large becomes infinity. In both directions a NaN becomes a quiet one that keeps its sign and as many of its upper
// bits as fit.
#pragma once

#include <stdint.h>

#include "anyplace/backend/kit/device_inline.h"

namespace anyplace::backend {

/// IEEE 754 binary16: DType::f16.
struct Binary16 {
  using Element = uint16_t;  ///< how it is stored
  using Value = float;       ///< what it is computed with

  /// The number as a float, exactly. A NaN becomes quiet.
  ANYPLACE_DEVICE_INLINE static Value load(Element x) noexcept {
    const uint32_t size = x & 0x7fffu;
    // A subnormal number is a multiple of 2^-24.
    const float multiple = static_cast<float>(static_cast<int32_t>(size)) * 0x1p-24f;
    const uint32_t subnormal = __builtin_bit_cast(uint32_t, multiple);
    const uint32_t normal = (size << 13) + 0x38000000u;
    const uint32_t special = size << 13 | (size > 0x7c00u ? 0x7fc00000u : 0x7f800000u);
    const uint32_t bits = size >= 0x7c00u ? special : size < 0x0400u ? subnormal : normal;
    return __builtin_bit_cast(float, bits | static_cast<uint32_t>(x & 0x8000u) << 16);
  }

  /// The nearest number of the type, ties to even. What is too large becomes infinite.
  ANYPLACE_DEVICE_INLINE static Element store(Value x) noexcept {
    const uint32_t bits = __builtin_bit_cast(uint32_t, x);
    const uint32_t size = bits & 0x7fffffffu;
    // The last bit of the sum is worth 2^-24, as a subnormal number's is, so the addition rounds.
    const uint32_t subnormal = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, size) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;
    const uint32_t special = size > 0x7f800000u ? 0x7e00u | (size >> 13 & 0x3ffu) : 0x7c00u;
    const uint32_t rounded = size >= 0x47800000u ? special : size < 0x38800000u ? subnormal : normal;
    return static_cast<Element>(rounded | (bits >> 16 & 0x8000u));
  }
};

/// The upper half of a float, as Google's "brain" format has it: DType::bf16.
struct Bfloat16 {
  using Element = uint16_t;  ///< how it is stored
  using Value = float;       ///< what it is computed with

  /// The number as a float, exactly. A NaN becomes quiet.
  ANYPLACE_DEVICE_INLINE static Value load(Element x) noexcept {
    const uint32_t quiet = (x & 0x7fffu) > 0x7f80u ? 0x00400000u : 0u;
    return __builtin_bit_cast(float, static_cast<uint32_t>(x) << 16 | quiet);
  }

  /// The nearest number of the type, ties to even.
  ANYPLACE_DEVICE_INLINE static Element store(Value x) noexcept {
    const uint32_t bits = __builtin_bit_cast(uint32_t, x);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    return static_cast<Element>(is_nan ? bits >> 16 | 0x40u : rounded);
  }
};

}  // namespace anyplace::backend
