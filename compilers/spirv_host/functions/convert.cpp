// SPDX-License-Identifier: Apache-2.0
//
// OpenCL's conversions of numbers, convert_TYPE[_sat][_MODE](FROM), by their mangled names. Without a mode, one to an
// integer rounds to zero, and one to a floating-point number to the nearest even.
#include <cfenv>
#include <type_traits>

using Uchar = unsigned char;
using Ushort = unsigned short;
using Uint = unsigned;
using Long = long;
using Ulong = unsigned long;

namespace {

enum class Mode { none, rte, rtz, rtp, rtn };

template <Mode mode, class F>
F rounded(F value) {
  if (mode == Mode::rte) return F(__builtin_rint(value));
  if (mode == Mode::rtp) return F(__builtin_ceil(value));
  if (mode == Mode::rtn) return F(__builtin_floor(value));
  return F(__builtin_trunc(value));
}

template <class T>
constexpr T least = std::is_signed_v<T> ? T(T{1} << (sizeof(T) * 8 - 1)) : T{0};
template <class T>
constexpr T greatest = T(~least<T>);

template <class T, class F>
T saturated(F value) {
  if constexpr (std::is_floating_point_v<F>) {
    if (value != value) return 0;
    // The greatest value may be rounded up to one that the type lacks.
    if (value >= F(greatest<T>)) return greatest<T>;
    return value <= F(least<T>) ? least<T> : T(value);
  } else {
    __extension__ using Wide = __int128;
    return Wide(value) < Wide(least<T>) ? least<T> : Wide(value) > Wide(greatest<T>) ? greatest<T> : T(value);
  }
}

template <class T, Mode mode, bool saturates, class F>
T converted(F value) {
  if constexpr (std::is_floating_point_v<T>) {
    if constexpr (mode == Mode::none || mode == Mode::rte) return T(value);
    const int before = std::fegetround();
    std::fesetround(mode == Mode::rtz ? FE_TOWARDZERO : mode == Mode::rtp ? FE_UPWARD : FE_DOWNWARD);
    volatile F from = value;  // converted while the mode is set
    volatile T to = T(from);
    std::fesetround(before);
    return to;
  } else if constexpr (std::is_floating_point_v<F>) {
    const F whole = rounded<mode>(value);
    return saturates ? saturated<T>(whole) : T(whole);
  } else {
    return saturates ? saturated<T>(value) : T(value);
  }
}

}  // namespace

#define OPENCL_CONVERT(name, T, F)                                                  \
  T convert_##name(F value) { return converted<T, Mode::none, false>(value); }      \
  T convert_##name##_rte(F value) { return converted<T, Mode::rte, false>(value); } \
  T convert_##name##_rtz(F value) { return converted<T, Mode::rtz, false>(value); } \
  T convert_##name##_rtp(F value) { return converted<T, Mode::rtp, false>(value); } \
  T convert_##name##_rtn(F value) { return converted<T, Mode::rtn, false>(value); }
#define OPENCL_CONVERT_SAT(name, T, F)                                                 \
  T convert_##name##_sat(F value) { return converted<T, Mode::none, true>(value); }    \
  T convert_##name##_sat_rte(F value) { return converted<T, Mode::rte, true>(value); } \
  T convert_##name##_sat_rtz(F value) { return converted<T, Mode::rtz, true>(value); } \
  T convert_##name##_sat_rtp(F value) { return converted<T, Mode::rtp, true>(value); } \
  T convert_##name##_sat_rtn(F value) { return converted<T, Mode::rtn, true>(value); }
#define OPENCL_CONVERT_INTEGER(name, T, F) OPENCL_CONVERT(name, T, F) OPENCL_CONVERT_SAT(name, T, F)
#define OPENCL_CONVERT_FROM(F)              \
  OPENCL_CONVERT_INTEGER(char, char, F)     \
  OPENCL_CONVERT_INTEGER(uchar, Uchar, F)   \
  OPENCL_CONVERT_INTEGER(short, short, F)   \
  OPENCL_CONVERT_INTEGER(ushort, Ushort, F) \
  OPENCL_CONVERT_INTEGER(int, int, F)       \
  OPENCL_CONVERT_INTEGER(uint, Uint, F)     \
  OPENCL_CONVERT_INTEGER(long, Long, F)     \
  OPENCL_CONVERT_INTEGER(ulong, Ulong, F)   \
  OPENCL_CONVERT(float, float, F)           \
  OPENCL_CONVERT(double, double, F)
OPENCL_CONVERT_FROM(char)
OPENCL_CONVERT_FROM(Uchar)
OPENCL_CONVERT_FROM(short)
OPENCL_CONVERT_FROM(Ushort)
OPENCL_CONVERT_FROM(int)
OPENCL_CONVERT_FROM(Uint)
OPENCL_CONVERT_FROM(Long)
OPENCL_CONVERT_FROM(Ulong)
OPENCL_CONVERT_FROM(float)
OPENCL_CONVERT_FROM(double)
