// SPDX-License-Identifier: Apache-2.0
//
// CUDA C++ as SPIR-V for OpenCL and Level Zero: Clang's `-x hip` for the target spirv64, whose bitcode llvm-spirv
// translates. No vendor's header is needed, because llvm-spirv makes instructions of functions that are called as these
// are: __spirv_NAME becomes the instruction OpNAME, __spirv_ocl_NAME one of the extended instructions of OpenCL, and
// __spirv_BuiltInNAME a position. So they are declared at global scope, and their parameters' types are part of the
// name.
//
// Dynamic shared memory is a parameter of a kernel there, which has to point to shared memory. Where a source uses
// ANYPLACE_DYNAMIC_SHARED, the kernels that it exports behind that have such a parameter behind their own, and leave
// its value in shared memory. Module finds the parameter in the image.
#pragma once

#if defined(ANYPLACE_BARE_DEVICE)

#include "export.h"

#define ANYPLACE_SPIRV_FUNCTION __attribute__((device))

// -- Between threads. Scopes and memory semantics are numbers of the SPIR-V specification, sections 3.27 and 3.25.
ANYPLACE_SPIRV_FUNCTION void __spirv_ControlBarrier(int who, int scope, int semantics);
ANYPLACE_SPIRV_FUNCTION void __spirv_MemoryBarrier(int scope, int semantics);

namespace anyplace::device_code {
enum { device_scope = 1, block_scope = 2 };
// Sequentially consistent, for shared memory and for the device's.
enum { all_memory = 0x010 | 0x100 | 0x200 };
}  // namespace anyplace::device_code

ANYPLACE_DEVICE_FUNCTION void __syncthreads() {
  using namespace ::anyplace::device_code;
  __spirv_ControlBarrier(block_scope, block_scope, all_memory);
}
ANYPLACE_DEVICE_FUNCTION void __threadfence() {
  using namespace ::anyplace::device_code;
  __spirv_MemoryBarrier(device_scope, all_memory);
}
ANYPLACE_DEVICE_FUNCTION void __threadfence_block() {
  using namespace ::anyplace::device_code;
  __spirv_MemoryBarrier(block_scope, all_memory);
}

// -- What atomics.h is made of: the compiler's own atomic functions would be calls of a library that no device has. All
// are relaxed, as CUDA's are.
#define ANYPLACE_ATOMIC(name) ::anyplace::device_code::atomic_##name

#define ANYPLACE_SPIRV_FETCH(name, instruction, type)                              \
  ANYPLACE_SPIRV_FUNCTION type __spirv_Atomic##instruction(type*, int, int, type); \
  namespace anyplace::device_code {                                                \
  ANYPLACE_DEVICE_FUNCTION type atomic_fetch_##name(type* p, type value, int) {    \
    return __spirv_Atomic##instruction(p, device_scope, 0, value);                 \
  }                                                                                \
  }
#define ANYPLACE_SPIRV_ATOMICS(type, sign)   \
  ANYPLACE_SPIRV_FETCH(add, IAdd, type)      \
  ANYPLACE_SPIRV_FETCH(sub, ISub, type)      \
  ANYPLACE_SPIRV_FETCH(and, And, type)       \
  ANYPLACE_SPIRV_FETCH(or, Or, type)         \
  ANYPLACE_SPIRV_FETCH(xor, Xor, type)       \
  ANYPLACE_SPIRV_FETCH(min, sign##Min, type) \
  ANYPLACE_SPIRV_FETCH(max, sign##Max, type)
ANYPLACE_SPIRV_ATOMICS(int, S)
ANYPLACE_SPIRV_ATOMICS(unsigned int, U)
ANYPLACE_SPIRV_ATOMICS(long long, S)
ANYPLACE_SPIRV_ATOMICS(unsigned long long, U)
#undef ANYPLACE_SPIRV_ATOMICS
#undef ANYPLACE_SPIRV_FETCH

#define ANYPLACE_SPIRV_ATOMICS(type)                                          \
  ANYPLACE_SPIRV_FUNCTION type __spirv_AtomicLoad(const type*, int, int);     \
  ANYPLACE_SPIRV_FUNCTION type __spirv_AtomicExchange(type*, int, int, type); \
  ANYPLACE_SPIRV_FUNCTION type __spirv_AtomicCompareExchange(type*, int, int, int, type value, type expected);
ANYPLACE_SPIRV_ATOMICS(unsigned int)
ANYPLACE_SPIRV_ATOMICS(unsigned long long)
#undef ANYPLACE_SPIRV_ATOMICS

namespace anyplace::device_code {

/// The unsigned type of so many bytes: values of any other are exchanged by their bits.
template <size_t bytes>
struct BitsOf;
template <>
struct BitsOf<4> {
  using Type = unsigned int;
};
template <>
struct BitsOf<8> {
  using Type = unsigned long long;
};
template <class T>
using Bits = typename BitsOf<sizeof(T)>::Type;

template <class T>
ANYPLACE_DEVICE_FUNCTION void atomic_load(const T* p, T* out, int) {
  *out = __builtin_bit_cast(T, __spirv_AtomicLoad(reinterpret_cast<const Bits<T>*>(p), device_scope, 0));
}
template <class T>
ANYPLACE_DEVICE_FUNCTION void atomic_exchange(T* p, const T* value, T* old, int) {
  const Bits<T> bits = __builtin_bit_cast(Bits<T>, *value);
  *old = __builtin_bit_cast(T, __spirv_AtomicExchange(reinterpret_cast<Bits<T>*>(p), device_scope, 0, bits));
}
template <class T>
ANYPLACE_DEVICE_FUNCTION bool atomic_compare_exchange_n(T* p, T* expected, T value, bool, int, int) {
  const Bits<T> wanted = __builtin_bit_cast(Bits<T>, value), before = __builtin_bit_cast(Bits<T>, *expected);
  const Bits<T> seen = __spirv_AtomicCompareExchange(reinterpret_cast<Bits<T>*>(p), device_scope, 0, 0, wanted, before);
  *expected = __builtin_bit_cast(T, seen);
  return seen == before;
}
template <class T>
ANYPLACE_DEVICE_FUNCTION bool atomic_compare_exchange(T* p, T* expected, const T* value, bool, int, int) {
  return atomic_compare_exchange_n(p, expected, *value, false, 0, 0);
}

}  // namespace anyplace::device_code

// -- Where a thread is.
#define ANYPLACE_SPIRV_POSITION(name) ANYPLACE_SPIRV_FUNCTION __attribute__((const)) size_t __spirv_BuiltIn##name(int);
ANYPLACE_SPIRV_POSITION(LocalInvocationId)
ANYPLACE_SPIRV_POSITION(WorkgroupId)
ANYPLACE_SPIRV_POSITION(WorkgroupSize)
ANYPLACE_SPIRV_POSITION(NumWorkgroups)
#undef ANYPLACE_SPIRV_POSITION
#define ANYPLACE_SPIRV_POSITION(name)                                                                       \
  static_cast<unsigned int>(__spirv_BuiltIn##name(0)), static_cast<unsigned int>(__spirv_BuiltIn##name(1)), \
      static_cast<unsigned int>(__spirv_BuiltIn##name(2))
#define threadIdx (uint3{ANYPLACE_SPIRV_POSITION(LocalInvocationId)})
#define blockIdx (uint3{ANYPLACE_SPIRV_POSITION(WorkgroupId)})
#define blockDim (dim3(ANYPLACE_SPIRV_POSITION(WorkgroupSize)))
#define gridDim (dim3(ANYPLACE_SPIRV_POSITION(NumWorkgroups)))

// -- Mathematics: OpenCL has most of math.h. What both compilers of bare.h have is there.
#define ANYPLACE_SPIRV_MATH_1(name, ocl)                                           \
  ANYPLACE_SPIRV_FUNCTION __attribute__((const)) float __spirv_ocl_##ocl(float);   \
  ANYPLACE_SPIRV_FUNCTION __attribute__((const)) double __spirv_ocl_##ocl(double); \
  ANYPLACE_DEVICE_FUNCTION float name##f(float x) { return __spirv_ocl_##ocl(x); } \
  ANYPLACE_DEVICE_FUNCTION double name(double x) { return __spirv_ocl_##ocl(x); }
#define ANYPLACE_SPIRV_MATH_2(name)                                                             \
  ANYPLACE_SPIRV_FUNCTION __attribute__((const)) float __spirv_ocl_##name(float, float);        \
  ANYPLACE_SPIRV_FUNCTION __attribute__((const)) double __spirv_ocl_##name(double, double);     \
  ANYPLACE_DEVICE_FUNCTION float name##f(float x, float y) { return __spirv_ocl_##name(x, y); } \
  ANYPLACE_DEVICE_FUNCTION double name(double x, double y) { return __spirv_ocl_##name(x, y); }
ANYPLACE_SPIRV_MATH_1(acos, acos)
ANYPLACE_SPIRV_MATH_1(acosh, acosh)
ANYPLACE_SPIRV_MATH_1(asin, asin)
ANYPLACE_SPIRV_MATH_1(asinh, asinh)
ANYPLACE_SPIRV_MATH_1(atan, atan)
ANYPLACE_SPIRV_MATH_1(atanh, atanh)
ANYPLACE_SPIRV_MATH_1(cbrt, cbrt)
ANYPLACE_SPIRV_MATH_1(cos, cos)
ANYPLACE_SPIRV_MATH_1(cosh, cosh)
ANYPLACE_SPIRV_MATH_1(erf, erf)
ANYPLACE_SPIRV_MATH_1(erfc, erfc)
ANYPLACE_SPIRV_MATH_1(exp, exp)
ANYPLACE_SPIRV_MATH_1(exp2, exp2)
ANYPLACE_SPIRV_MATH_1(expm1, expm1)
ANYPLACE_SPIRV_MATH_1(lgamma, lgamma)
ANYPLACE_SPIRV_MATH_1(log, log)
ANYPLACE_SPIRV_MATH_1(log10, log10)
ANYPLACE_SPIRV_MATH_1(log1p, log1p)
ANYPLACE_SPIRV_MATH_1(log2, log2)
ANYPLACE_SPIRV_MATH_1(logb, logb)
ANYPLACE_SPIRV_MATH_1(round, round)
ANYPLACE_SPIRV_MATH_1(rsqrt, rsqrt)
ANYPLACE_SPIRV_MATH_1(sin, sin)
ANYPLACE_SPIRV_MATH_1(sinh, sinh)
ANYPLACE_SPIRV_MATH_1(sqrt, sqrt)
ANYPLACE_SPIRV_MATH_1(tan, tan)
ANYPLACE_SPIRV_MATH_1(tanh, tanh)
ANYPLACE_SPIRV_MATH_1(tgamma, tgamma)
ANYPLACE_SPIRV_MATH_2(atan2)
ANYPLACE_SPIRV_MATH_2(copysign)
ANYPLACE_SPIRV_MATH_2(fdim)
ANYPLACE_SPIRV_MATH_2(fmod)
ANYPLACE_SPIRV_MATH_2(hypot)
ANYPLACE_SPIRV_MATH_2(nextafter)
ANYPLACE_SPIRV_MATH_2(pow)
ANYPLACE_SPIRV_MATH_2(remainder)
#undef ANYPLACE_SPIRV_MATH_1
#undef ANYPLACE_SPIRV_MATH_2

// -- Dynamic shared memory.
namespace anyplace::device_code {

/// What a kernel's parameter points to. Drivers align the memory as this type.
using SharedVector = unsigned int __attribute__((ext_vector_type(4)));
// In one declaration with the vector, Clang 15 gives the address space to the elements.
using Shared = __attribute__((address_space(3))) SharedVector;

/// Where a kernel leaves the value of its parameter, for all functions that it calls.
ANYPLACE_DEVICE_FUNCTION Shared*& dynamic_shared() {
  __shared__ Shared* memory;
  return memory;
}
ANYPLACE_DEVICE_FUNCTION void keep_dynamic_shared(Shared* memory) {
  const uint3 thread = threadIdx;
  if ((thread.x | thread.y | thread.z) == 0) dynamic_shared() = memory;
  __syncthreads();
}

/// uses_dynamic_shared(Source()) has a return type, and so can be called, once UseDynamicShared<Source> is
/// instantiated: where the source first says ANYPLACE_DYNAMIC_SHARED.
struct Source {
  friend constexpr auto uses_dynamic_shared(Source);
};
template <class Of>
struct UseDynamicShared {
  friend constexpr auto uses_dynamic_shared(Of) {}
};

/// The type of a function of the parameters that a kernel has behind its own. `Kernel` is another type at each use, so
/// that the compiler looks again.
template <class Kernel, class Of = Source>
struct HiddenParameters {
  using Type = void();
};
template <class Kernel, class Of>
requires requires { uses_dynamic_shared(Of()); }
struct HiddenParameters<Kernel, Of> {
  using Type = void(Shared*);
};

}  // namespace anyplace::device_code

#define ANYPLACE_DYNAMIC_SHARED_FUNCTION __attribute__((device)) inline
#define ANYPLACE_DYNAMIC_SHARED_MEMORY (::anyplace::device_code::dynamic_shared())
#include "dynamic_shared.h"
#define ANYPLACE_DYNAMIC_SHARED(type, name)                                                               \
  static_assert(sizeof(::anyplace::device_code::UseDynamicShared<::anyplace::device_code::Source>) != 0); \
  [[maybe_unused]] const typename ANYPLACE_DYNAMIC_SHARED_HERE(type)::Type name =                         \
      ANYPLACE_DYNAMIC_SHARED_HERE(type)::get()

// -- Kernels. The kernel itself is a function that the exported one calls.
#if defined(ANYPLACE_RUN_TIME_SOURCE)
#define __global__ inline __attribute__((device, always_inline, internal_linkage))
#define __kernel__ static inline __attribute__((device, always_inline))
#else
#define __global__         \
  ANYPLACE_KERNEL_LINKAGE; \
  static inline __attribute__((device, always_inline))
#endif
// The kernel is a template argument, so that nothing in the exported function hides its name.
#define ANYPLACE_EXPORT_NAMED_KERNEL(name, symbol, ...)                                             \
  template <auto kernel, class Signature, class Hidden>                                             \
  struct anyplace_kernel_##name;                                                                    \
  template <auto kernel, class... Args, bool is_noexcept, class... Hidden>                          \
  struct anyplace_kernel_##name<kernel, void (*)(Args...) noexcept(is_noexcept), void(Hidden...)> { \
    static __attribute__((global)) void run(Args... args, Hidden... hidden) __asm__(symbol) {       \
      (::anyplace::device_code::keep_dynamic_shared(hidden), ...);                                  \
      kernel(args...);                                                                              \
    }                                                                                               \
  };                                                                                                \
  template struct anyplace_kernel_##name<                                                           \
      &__VA_ARGS__, decltype(&__VA_ARGS__),                                                         \
      ::anyplace::device_code::HiddenParameters<anyplace_kernel_##name<nullptr, void, void>>::Type>;
#define ANYPLACE_EXPORT_KERNEL(name) ANYPLACE_EXPORT_NAMED_KERNEL(name, #name, name)

#endif  // ANYPLACE_BARE_DEVICE
