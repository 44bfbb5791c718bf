// SPDX-License-Identifier: Apache-2.0
//
// Logarithm, sine and cosine are computed by a fixed sequence of IEEE additions, multiplications and divisions, so that
// every device and every compiler gives the same bits. No library's function is called, and no multiplication is fused
// with an addition (the kernels are compiled with PLAIN_FLOAT). Nothing here branches, so that the host's compiler can
// make vectors of it.
//
// The series are Taylor's, up to the term that is lost in rounding. tests/random measures how far the results are from
// the true values, and docs/random.md says it.
#pragma once

#include <stdint.h>

#include "philox.h"

namespace anyplace::random {

template <class To, class From>
ANYPLACE_DEVICE_INLINE To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "");
  return __builtin_bit_cast(To, from);
}

/// Compute IEEE's square root and quotient, which are rounded correctly everywhere. In SPIR-V those of floats may be
/// wrong by some units in the last place, but a fused multiplication and addition may not: what it leaves of x - a b
/// says which neighbour is the right one.
#if defined(__SPIRV__)
ANYPLACE_DEVICE_INLINE float neighbour(float x, int32_t distance) {
  return same_bits<float>(same_bits<uint32_t>(x) + static_cast<uint32_t>(distance));
}
constexpr int most_steps = 4;  // OpenCL's bounds are 2.5 units for a quotient and 3 for a square root
ANYPLACE_DEVICE_INLINE float root_of(float x) {
  float root = sqrtf(x);
  for (int i = 0; i < most_steps; ++i) {
    const float above = neighbour(root, 1), below = neighbour(root, -1);
    if (fmaf(-root, above, x) > 0.0f) {
      root = above;
    } else if (fmaf(-root, below, x) <= 0.0f) {
      root = below;
    }
  }
  return root;
}
ANYPLACE_DEVICE_INLINE float quotient(float a, float b) {
  float ratio = a / b;
  for (int i = 0; i < most_steps; ++i) {
    const float rest = fabsf(fmaf(-ratio, b, a));
    const float above = neighbour(ratio, 1), below = neighbour(ratio, -1);
    if (fabsf(fmaf(-above, b, a)) < rest) {
      ratio = above;
    } else if (fabsf(fmaf(-below, b, a)) < rest) {
      ratio = below;
    }
  }
  return ratio;
}
ANYPLACE_DEVICE_INLINE double root_of(double x) { return sqrt(x); }
#else
#if defined(__CUDA_ARCH__) && !defined(ANYPLACE_BARE_DEVICE)
ANYPLACE_DEVICE_INLINE float root_of(float x) { return __fsqrt_rn(x); }
ANYPLACE_DEVICE_INLINE double root_of(double x) { return __dsqrt_rn(x); }
#elif defined(ANYPLACE_BARE_DEVICE)
ANYPLACE_DEVICE_INLINE float root_of(float x) { return sqrtf(x); }
ANYPLACE_DEVICE_INLINE double root_of(double x) { return sqrt(x); }
#else
ANYPLACE_DEVICE_INLINE float root_of(float x) { return __builtin_sqrtf(x); }
ANYPLACE_DEVICE_INLINE double root_of(double x) { return __builtin_sqrt(x); }
#endif
ANYPLACE_DEVICE_INLINE float quotient(float a, float b) { return a / b; }
#endif

/// Computes the polynomial in x of these coefficients by Horner's rule: a + x (b + x (...)).
template <class T>
ANYPLACE_DEVICE_INLINE T series(T, T last) {
  return last;
}
template <class T, class... More>
ANYPLACE_DEVICE_INLINE T series(T x, T first, More... more) {
  return first + x * series(x, more...);
}

/// Computes ln x of a normal number that is greater than 0.
///
/// x is m 2^e with m from sqrt(1/2) to sqrt(2); ln m is 2 artanh(s) with s = f / (2 + f) and f = m - 1. The sum is
/// arranged so that f itself, the largest part, isn't rounded (as fdlibm's e_log.c explains).
ANYPLACE_DEVICE_INLINE float log_of(float x) {
  constexpr uint32_t half_root = 0x3f3504f3;  // sqrt(1/2)
  const uint32_t above = same_bits<uint32_t>(x) - half_root;
  const float e = static_cast<float>(static_cast<int32_t>(above) >> 23);
  const float f = same_bits<float>((above & 0x007fffffu) + half_root) - 1.0f;
  const float s = quotient(f, 2.0f + f);
  const float z = s * s;
  const float r = z * series(z, 0.666666667f, 0.4f, 0.285714286f, 0.222222222f, 0.181818182f);
  const float half_square = 0.5f * f * f;
  const float low = s * (half_square + r) + e * 9.05800061e-6f;
  // ln 2 is added in two parts, of which the first has 17 bits, so that its product with e is exact.
  return e * 0.693138123f - ((half_square - low) - f);
}

ANYPLACE_DEVICE_INLINE double log_of(double x) {
  constexpr uint64_t half_root = 0x3fe6a09e667f3bcdull;  // sqrt(1/2)
  const uint64_t above = same_bits<uint64_t>(x) - half_root;
  const double e = static_cast<double>(static_cast<int32_t>(static_cast<uint32_t>(above >> 32)) >> 20);
  const double f = same_bits<double>((above & 0x000fffffffffffffull) + half_root) - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double r = z * series(z, 2.0 / 3.0, 2.0 / 5.0, 2.0 / 7.0, 2.0 / 9.0, 2.0 / 11.0, 2.0 / 13.0, 2.0 / 15.0,
                              2.0 / 17.0, 2.0 / 19.0, 2.0 / 21.0);
  const double half_square = 0.5 * f * f;
  const double low = s * (half_square + r) + e * 0x1.a39ef35793c76p-33;
  // The first part of ln 2 has 32 bits, so that its product with e is exact.
  return e * 0x1.62e42feep-1 - ((half_square - low) - f);
}

template <class T>
struct SinCos {
  T sine;
  T cosine;
};

/// Computes sine and cosine of `t` quarters of a turn, with t from -1/2 to 1/2.
ANYPLACE_DEVICE_INLINE SinCos<float> sin_cos_within(float t) {
  const float w = t * t;
  const float s = series(w, 1.57079633f, -0.645964098f, 0.0796926262f, -0.00468175414f, 0.00016044118f);
  const float c = series(w, 1.0f, -1.23370055f, 0.253669508f, -0.0208634807f, 0.000919260274f, -2.52020424e-5f);
  return {t * s, c};
}

ANYPLACE_DEVICE_INLINE SinCos<double> sin_cos_within(double t) {
  const double w = t * t;
  const double s = series(w, 0x1.921fb54442d18p+0, -0x1.4abbce625be53p-1, 0x1.466bc6775aae2p-4, -0x1.32d2cce62bd86p-8,
                          0x1.50783487ee782p-13, -0x1.e3074fde8871fp-19, 0x1.e8f434d018d63p-25, -0x1.6fadb9f155744p-31,
                          0x1.aaec32af93359p-38);
  const double c =
      series(w, 1.0, -0x1.3bd3cc9be45dep+0, 0x1.03c1f081b5ac4p-2, -0x1.55d3c7e3cbffap-6, 0x1.e1f506891babbp-11,
             -0x1.a6d1f2a204a8cp-16, 0x1.f9d38a3763cc3p-22, -0x1.b6e24f44b128fp-28, 0x1.20c62c2f2d7f5p-34);
  return {t * s, c};
}

/// Computes sine and cosine of `quarter` + `t` quarters of a turn. Only the lowest two bits of `quarter` count.
template <class T>
ANYPLACE_DEVICE_INLINE SinCos<T> sin_cos(uint32_t quarter, T t) {
  const SinCos<T> within = sin_cos_within(t);
  const bool odd = (quarter & 1u) != 0;
  const T sine = odd ? within.cosine : within.sine;
  const T cosine = odd ? within.sine : within.cosine;
  return {(quarter & 2u) != 0 ? -sine : sine, ((quarter + 1u) & 2u) != 0 ? -cosine : cosine};
}

}  // namespace anyplace::random
