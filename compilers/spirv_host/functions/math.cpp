// SPDX-License-Identifier: Apache-2.0
//
// OpenCL's mathematical, common, geometric, relational and integer functions of numbers, by their mangled names. Those
// of vectors are made of these (vectors.cpp of the plugin). No header of the standard library's mathematics is
// included, since it declares other functions of the same names.
#include <cstddef>
#include <cstdint>
#include <type_traits>

using Uchar = unsigned char;
using Ushort = unsigned short;
using Uint = unsigned;
using Long = long;
using Ulong = unsigned long;

// Those of the host's library that not every compiler has built in, under other names than OpenCL's.
extern "C" {
float host_exp10f(float) __asm__("exp10f");
double host_exp10(double) __asm__("exp10");
float host_lgammaf_r(float, int*) __asm__("lgammaf_r");
double host_lgamma_r(double, int*) __asm__("lgamma_r");
}

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

// -- Mathematics of the host's library, and what OpenCL has beside.

#define OPENCL_MATH_1(name)                              \
  float name(float x) { return __builtin_##name##f(x); } \
  double name(double x) { return __builtin_##name(x); }
#define OPENCL_MATH_2(name)                                          \
  float name(float x, float y) { return __builtin_##name##f(x, y); } \
  double name(double x, double y) { return __builtin_##name(x, y); }
OPENCL_MATH_1(acos)
OPENCL_MATH_1(acosh)
OPENCL_MATH_1(asin)
OPENCL_MATH_1(asinh)
OPENCL_MATH_1(atan)
OPENCL_MATH_1(atanh)
OPENCL_MATH_1(cbrt)
OPENCL_MATH_1(ceil)
OPENCL_MATH_1(cos)
OPENCL_MATH_1(cosh)
OPENCL_MATH_1(erf)
OPENCL_MATH_1(erfc)
OPENCL_MATH_1(exp)
OPENCL_MATH_1(exp2)
OPENCL_MATH_1(expm1)
OPENCL_MATH_1(fabs)
OPENCL_MATH_1(floor)
OPENCL_MATH_1(lgamma)
OPENCL_MATH_1(log)
OPENCL_MATH_1(log10)
OPENCL_MATH_1(log1p)
OPENCL_MATH_1(log2)
OPENCL_MATH_1(logb)
OPENCL_MATH_1(rint)
OPENCL_MATH_1(round)
OPENCL_MATH_1(sin)
OPENCL_MATH_1(sinh)
OPENCL_MATH_1(sqrt)
OPENCL_MATH_1(tan)
OPENCL_MATH_1(tanh)
OPENCL_MATH_1(tgamma)
OPENCL_MATH_1(trunc)
OPENCL_MATH_2(atan2)
OPENCL_MATH_2(copysign)
OPENCL_MATH_2(fdim)
OPENCL_MATH_2(fmax)
OPENCL_MATH_2(fmin)
OPENCL_MATH_2(fmod)
OPENCL_MATH_2(hypot)
OPENCL_MATH_2(nextafter)
OPENCL_MATH_2(pow)
OPENCL_MATH_2(remainder)

#define OPENCL_FLOATING(F, own, pi)                                                         \
  F exp10(F x) { return host_exp10##own(x); }                                               \
  F fma(F x, F y, F z) { return __builtin_fma##own(x, y, z); }                              \
  F mad(F x, F y, F z) { return x * y + z; }                                                \
  F rsqrt(F x) { return F{1} / sqrt(x); }                                                   \
  F powr(F x, F y) { return x < F{0} ? F(__builtin_nan("")) : pow(x, y); }                  \
  F pown(F x, int y) { return F(__builtin_pow(x, y)); }                                     \
  F rootn(F x, int n) {                                                                     \
    const bool is_odd = (n & 1) != 0;                                                       \
    if (x < F{0} && !is_odd) return F(__builtin_nan(""));                                   \
    return copysign(F(__builtin_pow(__builtin_fabs(x), 1.0 / n)), is_odd ? x : F{1});       \
  }                                                                                         \
  F sincos(F x, F* cosine) { return *cosine = cos(x), sin(x); }                             \
  F modf(F x, F* whole) { return __builtin_modf##own(x, whole); }                           \
  F fract(F x, F* whole) {                                                                  \
    *whole = floor(x);                                                                      \
    const F below_1 = nextafter(F{1}, F{0});                                                \
    return x - *whole < below_1 ? x - *whole : x != x ? x : below_1;                        \
  }                                                                                         \
  F frexp(F x, int* exponent) { return __builtin_frexp##own(x, exponent); }                 \
  F ldexp(F x, int exponent) { return __builtin_ldexp##own(x, exponent); }                  \
  int ilogb(F x) { return __builtin_ilogb##own(x); }                                        \
  F lgamma_r(F x, int* sign) { return host_lgamma##own##_r(x, sign); }                      \
  F remquo(F x, F y, int* quotient) { return __builtin_remquo##own(x, y, quotient); }       \
  F maxmag(F x, F y) { return fabs(x) > fabs(y) ? x : fabs(y) > fabs(x) ? y : fmax(x, y); } \
  F minmag(F x, F y) { return fabs(x) < fabs(y) ? x : fabs(y) < fabs(x) ? y : fmin(x, y); } \
  F acospi(F x) { return acos(x) / pi; }                                                    \
  F asinpi(F x) { return asin(x) / pi; }                                                    \
  F atanpi(F x) { return atan(x) / pi; }                                                    \
  F atan2pi(F y, F x) { return atan2(y, x) / pi; }                                          \
  F cospi(F x) { return cos(fmod(x, F{2}) * pi); }                                          \
  F sinpi(F x) { return sin(fmod(x, F{2}) * pi); }                                          \
  F tanpi(F x) { return tan(fmod(x, F{1}) * pi); }                                          \
  F clamp(F x, F low, F high) { return fmin(fmax(x, low), high); }                          \
  F degrees(F x) { return x * (F{180} / pi); }                                              \
  F radians(F x) { return x * (pi / F{180}); }                                              \
  F max(F x, F y) { return x < y ? y : x; }                                                 \
  F min(F x, F y) { return y < x ? y : x; }                                                 \
  F mix(F x, F y, F a) { return x + (y - x) * a; }                                          \
  F step(F edge, F x) { return x < edge ? F{0} : F{1}; }                                    \
  F smoothstep(F from, F to, F x) {                                                         \
    const F t = clamp((x - from) / (to - from), F{0}, F{1});                                \
    return t * t * (F{3} - F{2} * t);                                                       \
  }                                                                                         \
  F sign(F x) { return x > F{0} ? F{1} : x < F{0} ? F{-1} : x != x ? F{0} : x; }            \
  F dot(F x, F y) { return x * y; }                                                         \
  F length(F x) { return fabs(x); }                                                         \
  F distance(F x, F y) { return fabs(x - y); }                                              \
  F normalize(F x) { return sign(x); }                                                      \
  int isequal(F x, F y) { return x == y; }                                                  \
  int isnotequal(F x, F y) { return x != y; }                                               \
  int isgreater(F x, F y) { return x > y; }                                                 \
  int isgreaterequal(F x, F y) { return x >= y; }                                           \
  int isless(F x, F y) { return x < y; }                                                    \
  int islessequal(F x, F y) { return x <= y; }                                              \
  int islessgreater(F x, F y) { return x < y || x > y; }                                    \
  int isfinite(F x) { return __builtin_isfinite(x); }                                       \
  int isinf(F x) { return __builtin_isinf(x) != 0; }                                        \
  int isnan(F x) { return x != x; }                                                         \
  int isnormal(F x) { return __builtin_isnormal(x); }                                       \
  int isordered(F x, F y) { return x == x && y == y; }                                      \
  int isunordered(F x, F y) { return x != x || y != y; }                                    \
  int signbit(F x) { return __builtin_signbit(x) != 0; }
OPENCL_FLOATING(float, f, 3.14159265358979323846f)
OPENCL_FLOATING(double, , 3.14159265358979323846)

float nan(unsigned bits) {
  bits = (bits & 0x003fffffU) | 0x7fc00000U;
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}
double nan(Ulong bits) {
  bits = (bits & 0x0007ffffffffffffUL) | 0x7ff8000000000000UL;
  double value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

// The variants with less precision are as exact here.
#define OPENCL_FAST_1(name)                        \
  float native_##name(float x) { return name(x); } \
  float half_##name(float x) { return name(x); }
OPENCL_FAST_1(cos)
OPENCL_FAST_1(exp)
OPENCL_FAST_1(exp10)
OPENCL_FAST_1(exp2)
OPENCL_FAST_1(log)
OPENCL_FAST_1(log10)
OPENCL_FAST_1(log2)
OPENCL_FAST_1(rsqrt)
OPENCL_FAST_1(sin)
OPENCL_FAST_1(sqrt)
OPENCL_FAST_1(tan)
float native_divide(float x, float y) { return x / y; }
float half_divide(float x, float y) { return x / y; }
float native_powr(float x, float y) { return powr(x, y); }
float half_powr(float x, float y) { return powr(x, y); }
float native_recip(float x) { return 1.0f / x; }
float half_recip(float x) { return 1.0f / x; }

// -- Integers.

namespace {
template <class T>
struct Wide {
  using Type = std::conditional_t<(sizeof(T) < 8), std::conditional_t<std::is_signed_v<T>, Long, Ulong>,
                                  std::conditional_t<std::is_signed_v<T>, Int128, Uint128>>;
};
template <class T>
using WideOf = typename Wide<T>::Type;
template <class T>
constexpr T least = std::is_signed_v<T> ? T(T{1} << (sizeof(T) * 8 - 1)) : T{0};
template <class T>
constexpr T greatest = T(~least<T>);
/// The nearest value that the type has.
template <class T>
T saturated(WideOf<T> value) {
  return value < WideOf<T>(least<T>) ? least<T> : value > WideOf<T>(greatest<T>) ? greatest<T> : T(value);
}
}  // namespace

#define OPENCL_INTEGER(T)                                                                                   \
  std::make_unsigned_t<T> abs_diff(T x, T y) {                                                              \
    using U = std::make_unsigned_t<T>;                                                                      \
    return x < y ? U(U(y) - U(x)) : U(U(x) - U(y));                                                         \
  }                                                                                                         \
  T add_sat(T x, T y) { return saturated<T>(WideOf<T>(x) + y); }                                            \
  T sub_sat(T x, T y) {                                                                                     \
    if (!std::is_signed_v<T>) return x < y ? T{0} : T(x - y);                                               \
    return saturated<T>(WideOf<T>(x) - y);                                                                  \
  }                                                                                                         \
  T hadd(T x, T y) { return T((WideOf<T>(x) + y) >> 1); }                                                   \
  T rhadd(T x, T y) { return T((WideOf<T>(x) + y + 1) >> 1); }                                              \
  T clamp(T x, T low, T high) { return x < low ? low : high < x ? high : x; }                               \
  T clz(T x) {                                                                                              \
    constexpr int bits = sizeof(T) * 8;                                                                     \
    const auto plain = std::make_unsigned_t<T>(x);                                                          \
    return T(plain == 0 ? bits : __builtin_clzl(plain) - (64 - bits));                                      \
  }                                                                                                         \
  T ctz(T x) { return T(x == 0 ? sizeof(T) * 8 : __builtin_ctzl(Ulong(x))); }                               \
  T popcount(T x) { return T(__builtin_popcountl(std::make_unsigned_t<T>(x))); }                            \
  T max(T x, T y) { return x < y ? y : x; }                                                                 \
  T min(T x, T y) { return y < x ? y : x; }                                                                 \
  T mul_hi(T x, T y) { return T((WideOf<T>(x) * y) >> (sizeof(T) * 8)); }                                   \
  T mad_hi(T x, T y, T z) { return T(std::make_unsigned_t<T>(mul_hi(x, y)) + std::make_unsigned_t<T>(z)); } \
  T mad_sat(T x, T y, T z) { return saturated<T>(WideOf<T>(x) * y + z); }                                   \
  T rotate(T x, T by) {                                                                                     \
    constexpr unsigned bits = sizeof(T) * 8;                                                                \
    const auto plain = std::make_unsigned_t<T>(x);                                                          \
    const unsigned left = unsigned(by) % bits;                                                              \
    return left == 0 ? x : T(plain << left | plain >> (bits - left));                                       \
  }
#define OPENCL_ABS(T, U)                               \
  U abs(T x) { return x < 0 ? U(U{0} - U(x)) : U(x); } \
  U abs(U x) { return x; }
OPENCL_ABS(char, Uchar)
OPENCL_ABS(short, Ushort)
OPENCL_ABS(int, Uint)
OPENCL_ABS(Long, Ulong)
OPENCL_INTEGER(char)
OPENCL_INTEGER(Uchar)
OPENCL_INTEGER(short)
OPENCL_INTEGER(Ushort)
OPENCL_INTEGER(int)
OPENCL_INTEGER(Uint)
OPENCL_INTEGER(Long)
OPENCL_INTEGER(Ulong)

int mul24(int x, int y) { return int(unsigned(x << 8 >> 8) * unsigned(y << 8 >> 8)); }
unsigned mul24(unsigned x, unsigned y) { return (x & 0xffffffU) * (y & 0xffffffU); }
int mad24(int x, int y, int z) { return int(unsigned(mul24(x, y)) + unsigned(z)); }
unsigned mad24(unsigned x, unsigned y, unsigned z) { return mul24(x, y) + z; }
short upsample(char high, unsigned char low) { return short(high << 8 | low); }
unsigned short upsample(unsigned char high, unsigned char low) { return static_cast<unsigned short>(high << 8 | low); }
int upsample(short high, unsigned short low) { return int(unsigned(high) << 16 | low); }
unsigned upsample(unsigned short high, unsigned short low) { return unsigned(high) << 16 | low; }
Long upsample(int high, unsigned low) { return Long(Ulong(unsigned(high)) << 32 | low); }
Ulong upsample(unsigned high, unsigned low) { return Ulong(high) << 32 | low; }

// -- Choosing: by the condition, which is an integer of the same size, or by each bit.

#define OPENCL_CHOOSE(T, Signed, Unsigned)                                  \
  T select(T a, T b, Signed condition) { return condition != 0 ? b : a; }   \
  T select(T a, T b, Unsigned condition) { return condition != 0 ? b : a; } \
  T bitselect(T a, T b, T which) {                                          \
    Unsigned x, y, mask;                                                    \
    __builtin_memcpy(&x, &a, sizeof(a));                                    \
    __builtin_memcpy(&y, &b, sizeof(a));                                    \
    __builtin_memcpy(&mask, &which, sizeof(a));                             \
    x = Unsigned((x & ~mask) | (y & mask));                                 \
    __builtin_memcpy(&a, &x, sizeof(a));                                    \
    return a;                                                               \
  }
OPENCL_CHOOSE(char, char, Uchar)
OPENCL_CHOOSE(Uchar, char, Uchar)
OPENCL_CHOOSE(short, short, Ushort)
OPENCL_CHOOSE(Ushort, short, Ushort)
OPENCL_CHOOSE(int, int, Uint)
OPENCL_CHOOSE(Uint, int, Uint)
OPENCL_CHOOSE(Long, Long, Ulong)
OPENCL_CHOOSE(Ulong, Long, Ulong)
OPENCL_CHOOSE(float, int, Uint)
OPENCL_CHOOSE(double, Long, Ulong)

// -- Prefetching does nothing.

#define OPENCL_PREFETCH(T) \
  void prefetch(const T*, std::size_t) {}
OPENCL_PREFETCH(char)
OPENCL_PREFETCH(Uchar)
OPENCL_PREFETCH(short)
OPENCL_PREFETCH(Ushort)
OPENCL_PREFETCH(int)
OPENCL_PREFETCH(Uint)
OPENCL_PREFETCH(Long)
OPENCL_PREFETCH(Ulong)
OPENCL_PREFETCH(float)
OPENCL_PREFETCH(double)
