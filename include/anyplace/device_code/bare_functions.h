// SPDX-License-Identifier: Apache-2.0
//
// The math functions under CUDA's names, for Clang without a vendor's headers: for floats by the same name as for
// doubles, for integers, and the fast variants. Only bare.h includes it. SPIR-V has OpenCL's functions (spirv.h), PTX
// and AMD's code objects those of bare_math.h.
#pragma once

#if defined(ANYPLACE_BARE_DEVICE)

// -- What all have as an instruction or a short run of them.
#define ANYPLACE_BARE_MATH_1(name)                                                   \
  ANYPLACE_DEVICE_FUNCTION float name##f(float x) { return __builtin_##name##f(x); } \
  ANYPLACE_DEVICE_FUNCTION double name(double x) { return __builtin_##name(x); }
ANYPLACE_BARE_MATH_1(fabs)
ANYPLACE_BARE_MATH_1(floor)
ANYPLACE_BARE_MATH_1(ceil)
ANYPLACE_BARE_MATH_1(trunc)
ANYPLACE_BARE_MATH_1(rint)
#undef ANYPLACE_BARE_MATH_1
#define ANYPLACE_BARE_MATH_2(name)                                                               \
  ANYPLACE_DEVICE_FUNCTION float name##f(float x, float y) { return __builtin_##name##f(x, y); } \
  ANYPLACE_DEVICE_FUNCTION double name(double x, double y) { return __builtin_##name(x, y); }
ANYPLACE_BARE_MATH_2(fmin)
ANYPLACE_BARE_MATH_2(fmax)
#undef ANYPLACE_BARE_MATH_2
ANYPLACE_DEVICE_FUNCTION float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
ANYPLACE_DEVICE_FUNCTION double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
ANYPLACE_DEVICE_FUNCTION float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }

#define ANYPLACE_FOR_EACH_FUNCTION_OF_1(do)                                                                     \
  do                                                                                                            \
  (acos) do(acosh) do(asin) do(asinh) do(atan) do(atanh) do(cbrt) do(cos) do(cosh) do(erf) do(erfc) do(exp) do( \
      exp2) do(expm1) do(log) do(log10) do(log1p) do(log2) do(round) do(sin) do(sinh) do(tan) do(tanh)
#define ANYPLACE_FOR_EACH_FUNCTION_OF_2(do) \
  do (atan2) do(copysign) do(fdim) do(fmod) do(hypot) do(pow)

#if !defined(__SPIRV__)
#include "bare_math.h"
#define ANYPLACE_BARE_MATH_1(name)                                           \
  ANYPLACE_DEVICE_FUNCTION float name##f(float x) {                          \
    return static_cast<float>(::anyplace::device_code::math::name(x + 0.0)); \
  }                                                                          \
  ANYPLACE_DEVICE_FUNCTION double name(double x) { return ::anyplace::device_code::math::name(x); }
ANYPLACE_FOR_EACH_FUNCTION_OF_1(ANYPLACE_BARE_MATH_1)
#undef ANYPLACE_BARE_MATH_1
#define ANYPLACE_BARE_MATH_2(name)                                        \
  ANYPLACE_DEVICE_FUNCTION float name##f(float x, float y) {              \
    return static_cast<float>(::anyplace::device_code::math::name(x, y)); \
  }                                                                       \
  ANYPLACE_DEVICE_FUNCTION double name(double x, double y) { return ::anyplace::device_code::math::name(x, y); }
ANYPLACE_FOR_EACH_FUNCTION_OF_2(ANYPLACE_BARE_MATH_2)
#undef ANYPLACE_BARE_MATH_2
#endif

// -- As in C++, the functions are there for floats under the name for doubles, too, and an integer counts as a double.
namespace anyplace::device_code {
template <class T>
constexpr bool is_integer = __is_integral(T);  // Clang can't mangle the trait itself
template <class T>
constexpr bool is_number = __is_arithmetic(T);
template <class T, bool = is_integer<T>>
struct OfInteger {};
template <class T>
struct OfInteger<T, true> {
  using Type = double;
};
template <class A, class B, bool = is_number<A>&& is_number<B>>
struct OfNumbers {};
template <class A, class B>
struct OfNumbers<A, B, true> {
  using Type = double;
};
}  // namespace anyplace::device_code

#define ANYPLACE_OVERLOADS_1(name)                                                          \
  ANYPLACE_DEVICE_FUNCTION float name(float x) { return name##f(x); }                       \
  template <class T>                                                                        \
  ANYPLACE_DEVICE_FUNCTION typename ::anyplace::device_code::OfInteger<T>::Type name(T x) { \
    return name(static_cast<double>(x));                                                    \
  }
#define ANYPLACE_OVERLOADS_2(name)                                                                  \
  ANYPLACE_DEVICE_FUNCTION float name(float x, float y) { return name##f(x, y); }                   \
  template <class A, class B>                                                                       \
  ANYPLACE_DEVICE_FUNCTION typename ::anyplace::device_code::OfNumbers<A, B>::Type name(A x, B y) { \
    return name(static_cast<double>(x), static_cast<double>(y));                                    \
  }
#define ANYPLACE_FOR_EACH_SHORT_FUNCTION(do) \
  do (ceil) do(fabs) do(floor) do(rint) do(rsqrt) do(sqrt) do(trunc)
ANYPLACE_FOR_EACH_FUNCTION_OF_1(ANYPLACE_OVERLOADS_1)
ANYPLACE_FOR_EACH_SHORT_FUNCTION(ANYPLACE_OVERLOADS_1)
ANYPLACE_FOR_EACH_FUNCTION_OF_2(ANYPLACE_OVERLOADS_2)
ANYPLACE_OVERLOADS_2(fmax)
ANYPLACE_OVERLOADS_2(fmin)
#undef ANYPLACE_OVERLOADS_1
#undef ANYPLACE_OVERLOADS_2
/// What <cmath> has in namespace std (standard_math.h).
#define ANYPLACE_FOR_EACH_MATH_FUNCTION(do) \
  ANYPLACE_FOR_EACH_FUNCTION_OF_1(do)       \
  ANYPLACE_FOR_EACH_FUNCTION_OF_2(do)       \
  do (ceil) do(fabs) do(floor) do(fma) do(fmax) do(fmin) do(rint) do(sqrt) do(trunc)

#define ANYPLACE_OVERLOADS(type) \
  ANYPLACE_DEVICE_FUNCTION type abs(type x) { return x < 0 ? -x : x; }
ANYPLACE_OVERLOADS(int)
ANYPLACE_OVERLOADS(long)
ANYPLACE_OVERLOADS(long long)
#undef ANYPLACE_OVERLOADS
#define ANYPLACE_OVERLOADS(type)                                                       \
  ANYPLACE_DEVICE_FUNCTION type abs(type x) { return fabs(x); }                        \
  ANYPLACE_DEVICE_FUNCTION bool isnan(type x) { return x != x; }                       \
  ANYPLACE_DEVICE_FUNCTION bool isinf(type x) { return fabs(x) == __builtin_inf(); }   \
  ANYPLACE_DEVICE_FUNCTION bool isfinite(type x) { return fabs(x) < __builtin_inf(); } \
  ANYPLACE_DEVICE_FUNCTION bool signbit(type x) { return copysign(static_cast<type>(1), x) < 0; }
ANYPLACE_OVERLOADS(float)
ANYPLACE_OVERLOADS(double)
#undef ANYPLACE_OVERLOADS
ANYPLACE_DEVICE_FUNCTION void sincosf(float x, float* sine, float* cosine) {
  *sine = sinf(x);
  *cosine = cosf(x);
}
ANYPLACE_DEVICE_FUNCTION void sincos(double x, double* sine, double* cosine) {
  *sine = sin(x);
  *cosine = cos(x);
}

// -- The fast variants, of what the device has for them.
#if defined(__NVPTX__)
ANYPLACE_DEVICE_FUNCTION float __sinf(float x) { return __nvvm_sin_approx_f(x); }
ANYPLACE_DEVICE_FUNCTION float __cosf(float x) { return __nvvm_cos_approx_f(x); }
ANYPLACE_DEVICE_FUNCTION float __log2f(float x) { return __nvvm_lg2_approx_f(x); }
#define ANYPLACE_FAST_EXP2(x) __nvvm_ex2_approx_f(x)
#elif defined(__AMDGCN__)
// The instructions take turns of a circle, within -256 .. 256.
ANYPLACE_DEVICE_FUNCTION float __sinf(float x) {
  return __builtin_amdgcn_sinf(__builtin_amdgcn_fractf(x * 0.15915494f));
}
ANYPLACE_DEVICE_FUNCTION float __cosf(float x) {
  return __builtin_amdgcn_cosf(__builtin_amdgcn_fractf(x * 0.15915494f));
}
ANYPLACE_DEVICE_FUNCTION float __log2f(float x) { return __builtin_log2f(x); }
#define ANYPLACE_FAST_EXP2(x) __builtin_exp2f(x)
#else
ANYPLACE_SPIRV_FUNCTION __attribute__((const)) float __spirv_ocl_native_sin(float);
ANYPLACE_SPIRV_FUNCTION __attribute__((const)) float __spirv_ocl_native_cos(float);
ANYPLACE_SPIRV_FUNCTION __attribute__((const)) float __spirv_ocl_native_log2(float);
ANYPLACE_SPIRV_FUNCTION __attribute__((const)) float __spirv_ocl_native_exp2(float);
ANYPLACE_DEVICE_FUNCTION float __sinf(float x) { return __spirv_ocl_native_sin(x); }
ANYPLACE_DEVICE_FUNCTION float __cosf(float x) { return __spirv_ocl_native_cos(x); }
ANYPLACE_DEVICE_FUNCTION float __log2f(float x) { return __spirv_ocl_native_log2(x); }
#define ANYPLACE_FAST_EXP2(x) __spirv_ocl_native_exp2(x)
#endif
ANYPLACE_DEVICE_FUNCTION float __tanf(float x) { return __sinf(x) / __cosf(x); }
ANYPLACE_DEVICE_FUNCTION float __logf(float x) { return __log2f(x) * 0.69314718f; }
ANYPLACE_DEVICE_FUNCTION float __log10f(float x) { return __log2f(x) * 0.30103000f; }
ANYPLACE_DEVICE_FUNCTION float __expf(float x) { return ANYPLACE_FAST_EXP2(x * 1.44269504f); }
ANYPLACE_DEVICE_FUNCTION float __exp10f(float x) { return ANYPLACE_FAST_EXP2(x * 3.32192809f); }
ANYPLACE_DEVICE_FUNCTION float __powf(float x, float y) { return ANYPLACE_FAST_EXP2(y * __log2f(x)); }
ANYPLACE_DEVICE_FUNCTION float __fdividef(float x, float y) { return x / y; }
ANYPLACE_DEVICE_FUNCTION float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

#endif  // ANYPLACE_BARE_DEVICE
