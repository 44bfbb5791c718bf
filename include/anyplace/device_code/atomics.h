// SPDX-License-Identifier: Apache-2.0
//
// CUDA's atomic functions, made of the built-in ones that GCC and Clang share: for the host and for Clang without a
// vendor's headers. Each returns the value before. Only the headers of these two (host.h, bare.h) include this one;
// they define
//   ANYPLACE_DEVICE_FUNCTION      what a function of the device begins with
//   ANYPLACE_ATOMIC_ORDER         the memory order; CUDA promises only that the operation itself is atomic
//   ANYPLACE_ATOMIC(name)         what to call in place of __atomic_name, where the compiler lacks that (spirv.h)
#pragma once

#if defined(ANYPLACE_DEVICE_FUNCTION)

#if !defined(ANYPLACE_ATOMIC)
#define ANYPLACE_ATOMIC(name) __atomic_##name
#endif

namespace anyplace::device_code {

/// Replaces *p by change(*p), for operations without an instruction of their own. It compares bits, because a NaN
/// equals nothing and the loop would never end.
template <class T, class Change>
ANYPLACE_DEVICE_FUNCTION T atomic_change(T* p, Change change) {
  T seen;
  ANYPLACE_ATOMIC(load)(p, &seen, __ATOMIC_RELAXED);
  for (;;) {
    T wanted = change(seen);
    if (ANYPLACE_ATOMIC(compare_exchange)(p, &seen, &wanted, false, ANYPLACE_ATOMIC_ORDER, __ATOMIC_RELAXED))
      return seen;
  }
}

}  // namespace anyplace::device_code

#define ANYPLACE_ATOMIC_BUILTIN(name, builtin, type)                  \
  ANYPLACE_DEVICE_FUNCTION type name(type* p, type value) {           \
    return ANYPLACE_ATOMIC(builtin)(p, value, ANYPLACE_ATOMIC_ORDER); \
  }
#define ANYPLACE_ATOMIC_CHANGE(name, type, change)                                                                     \
  ANYPLACE_DEVICE_FUNCTION type name(type* p, type value) {                                                            \
    return ::anyplace::device_code::atomic_change(p, [value](type old) -> type { return static_cast<type>(change); }); \
  }

#define ANYPLACE_ATOMIC_BITS(type)                    \
  ANYPLACE_ATOMIC_BUILTIN(atomicAnd, fetch_and, type) \
  ANYPLACE_ATOMIC_BUILTIN(atomicOr, fetch_or, type)   \
  ANYPLACE_ATOMIC_BUILTIN(atomicXor, fetch_xor, type)
ANYPLACE_ATOMIC_BITS(int)
ANYPLACE_ATOMIC_BITS(unsigned int)
ANYPLACE_ATOMIC_BITS(unsigned long long)
#undef ANYPLACE_ATOMIC_BITS

ANYPLACE_ATOMIC_BUILTIN(atomicAdd, fetch_add, int)
ANYPLACE_ATOMIC_BUILTIN(atomicAdd, fetch_add, unsigned int)
ANYPLACE_ATOMIC_BUILTIN(atomicAdd, fetch_add, unsigned long long)
ANYPLACE_ATOMIC_BUILTIN(atomicSub, fetch_sub, int)
ANYPLACE_ATOMIC_BUILTIN(atomicSub, fetch_sub, unsigned int)
ANYPLACE_ATOMIC_CHANGE(atomicAdd, float, old + value)
ANYPLACE_ATOMIC_CHANGE(atomicAdd, double, old + value)

#if defined(__clang__)
#define ANYPLACE_ATOMIC_LIMITS(type)                  \
  ANYPLACE_ATOMIC_BUILTIN(atomicMin, fetch_min, type) \
  ANYPLACE_ATOMIC_BUILTIN(atomicMax, fetch_max, type)
#else
#define ANYPLACE_ATOMIC_LIMITS(type)                                 \
  ANYPLACE_ATOMIC_CHANGE(atomicMin, type, value < old ? value : old) \
  ANYPLACE_ATOMIC_CHANGE(atomicMax, type, old < value ? value : old)
#endif
ANYPLACE_ATOMIC_LIMITS(int)
ANYPLACE_ATOMIC_LIMITS(unsigned int)
ANYPLACE_ATOMIC_LIMITS(long long)
ANYPLACE_ATOMIC_LIMITS(unsigned long long)
#undef ANYPLACE_ATOMIC_LIMITS

// The counters wrap around within 0 .. value.
ANYPLACE_ATOMIC_CHANGE(atomicInc, unsigned int, old >= value ? 0 : old + 1)
ANYPLACE_ATOMIC_CHANGE(atomicDec, unsigned int, old == 0 || old > value ? value : old - 1)

#define ANYPLACE_ATOMIC_EXCHANGE(type)                                 \
  ANYPLACE_DEVICE_FUNCTION type atomicExch(type* p, type value) {      \
    type old;                                                          \
    ANYPLACE_ATOMIC(exchange)(p, &value, &old, ANYPLACE_ATOMIC_ORDER); \
    return old;                                                        \
  }
ANYPLACE_ATOMIC_EXCHANGE(int)
ANYPLACE_ATOMIC_EXCHANGE(unsigned int)
ANYPLACE_ATOMIC_EXCHANGE(unsigned long long)
ANYPLACE_ATOMIC_EXCHANGE(float)
#undef ANYPLACE_ATOMIC_EXCHANGE

#define ANYPLACE_ATOMIC_COMPARE(type)                                                                         \
  ANYPLACE_DEVICE_FUNCTION type atomicCAS(type* p, type expected, type value) {                               \
    ANYPLACE_ATOMIC(compare_exchange_n)(p, &expected, value, false, ANYPLACE_ATOMIC_ORDER, __ATOMIC_RELAXED); \
    return expected;                                                                                          \
  }
ANYPLACE_ATOMIC_COMPARE(int)
ANYPLACE_ATOMIC_COMPARE(unsigned int)
ANYPLACE_ATOMIC_COMPARE(unsigned long long)
#undef ANYPLACE_ATOMIC_COMPARE
#undef ANYPLACE_ATOMIC_BUILTIN
#undef ANYPLACE_ATOMIC_CHANGE

#endif  // ANYPLACE_DEVICE_FUNCTION
