// SPDX-License-Identifier: Apache-2.0
//
// How elements are added. For each way of storing one there is a struct that says what it is added as. It is plain C++,
// for kernels.cu and for the host.
//
// add_range() adds on a thread of the host: it reads a cache line of each input, one input after the other, and then
// writes the line of the sum. All of a line is used at once, because the inputs mostly begin at the same offset in a
// page, so their lines would evict each other.
#pragma once

#include <stdint.h>

#include "anyplace/backend/kit/half.h"

namespace anyplace::sums {

/// One pass has at most so many inputs.
enum { most_inputs = 8 };

template <class T>
struct Plain {
  using Element = T;
  using Value = T;
  ANYPLACE_DEVICE_INLINE static Value load(Element x) { return x; }
  ANYPLACE_DEVICE_INLINE static Element store(Value x) { return x; }
  ANYPLACE_DEVICE_INLINE static Value add(Value a, Value b) { return static_cast<Value>(a + b); }
};

struct Boolean {
  using Element = uint8_t;
  using Value = uint8_t;
  ANYPLACE_DEVICE_INLINE static Value load(Element x) { return x != 0 ? 1 : 0; }
  ANYPLACE_DEVICE_INLINE static Element store(Value x) { return x; }
  ANYPLACE_DEVICE_INLINE static Value add(Value a, Value b) { return static_cast<Value>(a | b); }
};

/// Elements of a format of 16 bits are added as floats.
template <class Format>
struct Rounded : Format {
  ANYPLACE_DEVICE_INLINE static float add(float a, float b) { return a + b; }
};

#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__) && !defined(ANYPLACE_BARE_DEVICE)

/// Adds elements [begin, end) of `count` inputs, at least one. `out` may be an input, but may not overlap one
/// otherwise.
template <class Sum>
void add_range(typename Sum::Element* out, const typename Sum::Element* const* inputs, uint32_t count, uint64_t begin,
               uint64_t end) {
  using Element = typename Sum::Element;
  using Value = typename Sum::Value;
  constexpr uint64_t line_bytes = 64;
  constexpr int size = line_bytes / sizeof(Element);
  // The processor foresees what is read next for some inputs, but not for so many at once.
  const auto prefetch = [](const Element* from) {
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(from) + 8 * line_bytes));
  };
  uint64_t at = begin;
  for (; at + size <= end; at += size) {
    Value sums[size];
    prefetch(inputs[0] + at);
    for (int i = 0; i < size; ++i) sums[i] = Sum::load(inputs[0][at + static_cast<uint64_t>(i)]);
    for (uint32_t k = 1; k < count; ++k) {
      const Element* const next = inputs[k] + at;
      prefetch(next);
      for (int i = 0; i < size; ++i) sums[i] = Sum::add(sums[i], Sum::load(next[i]));
    }
    for (int i = 0; i < size; ++i) out[at + static_cast<uint64_t>(i)] = Sum::store(sums[i]);
  }
  for (; at < end; ++at) {
    Value sum = Sum::load(inputs[0][at]);
    for (uint32_t k = 1; k < count; ++k) sum = Sum::add(sum, Sum::load(inputs[k][at]));
    out[at] = Sum::store(sum);
  }
}

#endif

}  // namespace anyplace::sums
