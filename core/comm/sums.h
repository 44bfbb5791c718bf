// SPDX-License-Identifier: Apache-2.0
//
// How elements are added: for each way of storing one, what it is added as. Plain C++, for kernels.cu and for the host.
//
// add_tiles() adds a range on a thread of the host: a tile of every input after another, so that only two ranges of
// memory are under way at a time. Many at once, which mostly begin at the same offset in a page, would evict each other
// from the first cache before all of a line was used.
#pragma once

#include <stdint.h>

#if defined(__CUDACC__) || defined(__HIP__) || defined(__HIPCC__) || defined(ANYPLACE_BARE_DEVICE)
#define ANYPLACE_SUM_FUNCTION static inline __device__
#else
#define ANYPLACE_SUM_FUNCTION static inline
#endif

namespace anyplace::sums {

/// The most inputs of one pass.
enum { most_inputs = 8 };

template <class T>
struct Plain {
  using Element = T;
  using Value = T;
  ANYPLACE_SUM_FUNCTION Value load(Element x) { return x; }
  ANYPLACE_SUM_FUNCTION Element store(Value x) { return x; }
  ANYPLACE_SUM_FUNCTION Value add(Value a, Value b) { return static_cast<Value>(a + b); }
};

struct Boolean {
  using Element = uint8_t;
  using Value = uint8_t;
  ANYPLACE_SUM_FUNCTION Value load(Element x) { return x != 0 ? 1 : 0; }
  ANYPLACE_SUM_FUNCTION Element store(Value x) { return x; }
  ANYPLACE_SUM_FUNCTION Value add(Value a, Value b) { return static_cast<Value>(a | b); }
};

/// The upper half of a float. Rounded to the nearest, ties to even; a NaN stays one.
struct Brain {
  using Element = uint16_t;
  using Value = float;
  ANYPLACE_SUM_FUNCTION Value load(Element x) { return __builtin_bit_cast(float, static_cast<uint32_t>(x) << 16); }
  ANYPLACE_SUM_FUNCTION Element store(Value x) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, x);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u | bits >> 16 : rounded);
  }
  ANYPLACE_SUM_FUNCTION Value add(Value a, Value b) { return a + b; }
};

/// IEEE 754 binary16, rounded likewise; too large is infinity.
struct Half {
  using Element = uint16_t;
  using Value = float;
  ANYPLACE_SUM_FUNCTION Value load(Element x) {
    const uint32_t size = x & 0x7fffu;
    // A subnormal is a number of units of 2^-24.
    const float small = static_cast<float>(static_cast<int32_t>(size)) * 0x1p-24f;
    const uint32_t plain = size >= 0x7c00u ? size << 13 | 0x7f800000u : (size << 13) + 0x38000000u;
    const uint32_t bits = size < 0x0400u ? __builtin_bit_cast(uint32_t, small) : plain;
    return __builtin_bit_cast(float, bits | static_cast<uint32_t>(x & 0x8000u) << 16);
  }
  ANYPLACE_SUM_FUNCTION Element store(Value x) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, x);
    const uint32_t size = bits & 0x7fffffffu;
    // The sum's last bit is worth what a subnormal's is, so the addition rounds.
    const uint32_t small = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, size) + 0.5f) - 0x3f000000u;
    const uint32_t plain = (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;
    const uint32_t large = size > 0x7f800000u ? 0x7e00u : 0x7c00u;
    const uint32_t rounded = size >= 0x47800000u ? large : size < 0x38800000u ? small : plain;
    return static_cast<uint16_t>(rounded | (bits >> 16 & 0x8000u));
  }
  ANYPLACE_SUM_FUNCTION Value add(Value a, Value b) { return a + b; }
};

/// Elements [begin, end) of `count` inputs, at least one. `out` may be an input, but not overlap one otherwise.
template <class Sum>
void add_tiles(typename Sum::Element* out, const typename Sum::Element* const* inputs, uint32_t count, uint64_t begin,
               uint64_t end) {
  using Element = typename Sum::Element;
  using Value = typename Sum::Value;
  constexpr uint32_t tile = 8192 / sizeof(Value);
  Value sums[tile];
  for (uint64_t at = begin; at < end; at += tile) {
    const uint32_t size = end - at < tile ? static_cast<uint32_t>(end - at) : tile;
    const Element* const first = inputs[0] + at;
    for (uint32_t i = 0; i < size; ++i) sums[i] = Sum::load(first[i]);
    for (uint32_t k = 1; k + 1 < count; ++k) {
      const Element* const next = inputs[k] + at;
      for (uint32_t i = 0; i < size; ++i) sums[i] = Sum::add(sums[i], Sum::load(next[i]));
    }
    Element* const to = out + at;
    if (count == 1) {
      for (uint32_t i = 0; i < size; ++i) to[i] = Sum::store(sums[i]);
    } else {
      const Element* const last = inputs[count - 1] + at;
      for (uint32_t i = 0; i < size; ++i) to[i] = Sum::store(Sum::add(sums[i], Sum::load(last[i])));
    }
  }
}

}  // namespace anyplace::sums
