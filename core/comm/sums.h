// SPDX-License-Identifier: Apache-2.0
//
// How elements are added: for each way of storing one, what it is added as. Plain C++, for kernels.cu and for the host.
//
// add_range() adds on a thread of the host: a cache line of every input after another, and then the line of the sum.
// All of a line is used at once, because the inputs mostly begin at the same offset in a page, and their lines would
// evict each other.
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

#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__) && !defined(ANYPLACE_BARE_DEVICE)

enum { line_bytes = 64 };

/// A line of sums, as the compiler keeps it in registers.
template <class Sum>
struct Line {
  enum { size = line_bytes / sizeof(typename Sum::Element) };
  typename Sum::Value values[size];

  void load(const typename Sum::Element* from) {
    for (int i = 0; i < size; ++i) values[i] = Sum::load(from[i]);
  }
  void add(const typename Sum::Element* from) {
    for (int i = 0; i < size; ++i) values[i] = Sum::add(values[i], Sum::load(from[i]));
  }
  void store(typename Sum::Element* to, bool) const {
    for (int i = 0; i < size; ++i) to[i] = Sum::store(values[i]);
  }
};

template <class T>
struct Line<Plain<T>> {
  enum { size = line_bytes / sizeof(T) };
  typedef T Values __attribute__((vector_size(line_bytes)));
  Values values;

  void load(const T* from) { __builtin_memcpy(&values, from, line_bytes); }
  void add(const T* from) {
    Values next;
    __builtin_memcpy(&next, from, line_bytes);
    values += next;
  }
  /// `past_caches`: the line isn't read before it is written, and not kept.
  void store(T* to, bool past_caches) const {
#if defined(__SSE2__)
    if (past_caches) {
      typedef float Four __attribute__((vector_size(16), may_alias));
      const Four* const parts = reinterpret_cast<const Four*>(&values);
      for (int i = 0; i < 4; ++i) write_past_caches(reinterpret_cast<float*>(to) + 4 * i, parts[i]);
      return;
    }
#endif
    static_cast<void>(past_caches);
    __builtin_memcpy(to, &values, line_bytes);
  }

 private:
#if defined(__SSE2__)
  template <class Four>
  static void write_past_caches(float* to, const Four& value) {
#if defined(__clang__)
    __builtin_nontemporal_store(value, reinterpret_cast<Four*>(to));
#else
    __builtin_ia32_movntps(to, value);
#endif
  }
#endif
};

/// Elements [begin, end) of `count` inputs, at least one. `out` may be an input, but not overlap one otherwise.
/// `past_caches`: the whole sum is larger than caches are.
template <class Sum>
void add_range(typename Sum::Element* out, const typename Sum::Element* const* inputs, uint32_t count, uint64_t begin,
               uint64_t end, bool past_caches) {
  constexpr int size = Line<Sum>::size;
  const bool writes_past = past_caches && reinterpret_cast<uintptr_t>(out) % 16 == 0;
  // Of so many inputs at once the processor foresees what comes next only for some.
  constexpr uintptr_t ahead = 8 * line_bytes;
  const auto foresee = [&](uint32_t k, uint64_t at) {
    if (past_caches)
      __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(inputs[k] + at) + ahead));
  };
  uint64_t at = begin;
  for (; at + size <= end; at += size) {
    Line<Sum> sum;
    sum.load(inputs[0] + at);
    foresee(0, at);
    for (uint32_t k = 1; k < count; ++k) {
      sum.add(inputs[k] + at);
      foresee(k, at);
    }
    sum.store(out + at, writes_past);
  }
  for (; at < end; ++at) {
    typename Sum::Value sum = Sum::load(inputs[0][at]);
    for (uint32_t k = 1; k < count; ++k) sum = Sum::add(sum, Sum::load(inputs[k][at]));
    out[at] = Sum::store(sum);
  }
#if defined(__SSE2__)
  if (writes_past) __builtin_ia32_sfence();
#endif
}

#endif

}  // namespace anyplace::sums
