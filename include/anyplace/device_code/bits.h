// SPDX-License-Identifier: Apache-2.0
//
// CUDA's integer and bit functions, and min and max, made of the built-in functions that GCC and Clang share: for the
// host and for Clang without a vendor's headers. Only the headers of these two (host.h, bare.h) include this one; they
// define ANYPLACE_DEVICE_FUNCTION.
#pragma once

#if defined(ANYPLACE_DEVICE_FUNCTION)

ANYPLACE_DEVICE_FUNCTION int __popc(unsigned int x) { return __builtin_popcount(x); }
ANYPLACE_DEVICE_FUNCTION int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
ANYPLACE_DEVICE_FUNCTION int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(x)); }
ANYPLACE_DEVICE_FUNCTION int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
ANYPLACE_DEVICE_FUNCTION int __ffs(int x) { return x == 0 ? 0 : __builtin_ctz(static_cast<unsigned int>(x)) + 1; }
ANYPLACE_DEVICE_FUNCTION int __ffsll(long long x) {
  return x == 0 ? 0 : __builtin_ctzll(static_cast<unsigned long long>(x)) + 1;
}
ANYPLACE_DEVICE_FUNCTION unsigned int __brev(unsigned int x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
ANYPLACE_DEVICE_FUNCTION unsigned long long __brevll(unsigned long long x) {
  const unsigned long long high = __brev(static_cast<unsigned int>(x));
  return high << 32 | __brev(static_cast<unsigned int>(x >> 32));
}
ANYPLACE_DEVICE_FUNCTION unsigned int __umulhi(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>(static_cast<unsigned long long>(a) * b >> 32);
}
ANYPLACE_DEVICE_FUNCTION int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
/// The products of the lower 24 bits. Old kernels have them for devices that multiplied these faster.
ANYPLACE_DEVICE_FUNCTION int __mul24(int a, int b) {
  return static_cast<int>(static_cast<unsigned int>(a << 8 >> 8) * static_cast<unsigned int>(b << 8 >> 8));
}
ANYPLACE_DEVICE_FUNCTION unsigned int __umul24(unsigned int a, unsigned int b) {
  return (a & 0xffffffu) * (b & 0xffffffu);
}

// Conversions by how they round: down, to the nearest (and even), up, towards zero.
#define ANYPLACE_ROUNDED(from, suffix, name, to)                                                        \
  ANYPLACE_DEVICE_FUNCTION to name##_rd(from x) { return static_cast<to>(__builtin_floor##suffix(x)); } \
  ANYPLACE_DEVICE_FUNCTION to name##_rn(from x) { return static_cast<to>(__builtin_rint##suffix(x)); }  \
  ANYPLACE_DEVICE_FUNCTION to name##_ru(from x) { return static_cast<to>(__builtin_ceil##suffix(x)); }  \
  ANYPLACE_DEVICE_FUNCTION to name##_rz(from x) { return static_cast<to>(x); }
ANYPLACE_ROUNDED(float, f, __float2int, int)
ANYPLACE_ROUNDED(float, f, __float2uint, unsigned int)
ANYPLACE_ROUNDED(float, f, __float2ll, long long)
ANYPLACE_ROUNDED(double, , __double2int, int)
ANYPLACE_ROUNDED(double, , __double2uint, unsigned int)
ANYPLACE_ROUNDED(double, , __double2ll, long long)
#undef ANYPLACE_ROUNDED
ANYPLACE_DEVICE_FUNCTION float __int2float_rn(int x) { return static_cast<float>(x); }
ANYPLACE_DEVICE_FUNCTION float __uint2float_rn(unsigned int x) { return static_cast<float>(x); }

#define ANYPLACE_SAME_BITS(name, from, to) \
  ANYPLACE_DEVICE_FUNCTION to name(from x) { return __builtin_bit_cast(to, x); }
ANYPLACE_SAME_BITS(__float_as_int, float, int)
ANYPLACE_SAME_BITS(__float_as_uint, float, unsigned int)
ANYPLACE_SAME_BITS(__int_as_float, int, float)
ANYPLACE_SAME_BITS(__uint_as_float, unsigned int, float)
ANYPLACE_SAME_BITS(__double_as_longlong, double, long long)
ANYPLACE_SAME_BITS(__longlong_as_double, long long, double)
#undef ANYPLACE_SAME_BITS

template <class T>
ANYPLACE_DEVICE_FUNCTION T __ldg(const T* p) {
  return *p;
}

// The third type is the result's where two are mixed, as in CUDA: the unsigned type wins, and so does the wider.
#define ANYPLACE_MIN_MAX(a_type, b_type, type)                                                        \
  ANYPLACE_DEVICE_FUNCTION type min(a_type a, b_type b) {                                             \
    return static_cast<type>(b) < static_cast<type>(a) ? static_cast<type>(b) : static_cast<type>(a); \
  }                                                                                                   \
  ANYPLACE_DEVICE_FUNCTION type max(a_type a, b_type b) {                                             \
    return static_cast<type>(a) < static_cast<type>(b) ? static_cast<type>(b) : static_cast<type>(a); \
  }
#define ANYPLACE_MIN_MAX_INTEGERS(type)                         \
  ANYPLACE_MIN_MAX(type, type, type)                            \
  ANYPLACE_MIN_MAX(unsigned type, unsigned type, unsigned type) \
  ANYPLACE_MIN_MAX(unsigned type, type, unsigned type)          \
  ANYPLACE_MIN_MAX(type, unsigned type, unsigned type)
ANYPLACE_MIN_MAX_INTEGERS(int)
ANYPLACE_MIN_MAX_INTEGERS(long)
ANYPLACE_MIN_MAX_INTEGERS(long long)
#undef ANYPLACE_MIN_MAX_INTEGERS
#undef ANYPLACE_MIN_MAX

// If one operand is a NaN, the other is the result, as with fmin and fmax.
#define ANYPLACE_MIN_MAX(a_type, b_type, type)                            \
  ANYPLACE_DEVICE_FUNCTION type min(a_type a, b_type b) {                 \
    return b < a || a != a ? static_cast<type>(b) : static_cast<type>(a); \
  }                                                                       \
  ANYPLACE_DEVICE_FUNCTION type max(a_type a, b_type b) {                 \
    return a < b || a != a ? static_cast<type>(b) : static_cast<type>(a); \
  }
ANYPLACE_MIN_MAX(float, float, float)
ANYPLACE_MIN_MAX(double, double, double)
ANYPLACE_MIN_MAX(float, double, double)
ANYPLACE_MIN_MAX(double, float, double)
#undef ANYPLACE_MIN_MAX

#endif  // ANYPLACE_DEVICE_FUNCTION
