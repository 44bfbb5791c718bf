// SPDX-License-Identifier: Apache-2.0
//
// CUDA C++ for the compiler of the host: the words, the functions, and how a kernel becomes a function that cpu_sim can
// call. host_block.h runs a block's threads.
//
// The headers of the standard library come first, because some of CUDA's words are names inside them.
#pragma once

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "host_block.h"
#include "vectors.h"

// -- Words.
// A kernel loses its C linkage here: ANYPLACE_EXPORT_KERNELS exports a function under its name that calls it, and the
// kernel itself is static. So that `extern "C"` still has something to stand before, the macro begins with a variable,
// which `extern "C"` makes a mere declaration. Without `extern "C"` the variable would be defined, which doesn't
// compile (host_block.h), since on a device that kernel would have another name.
#if defined(ANYPLACE_RUN_TIME_SOURCE)  // a string that is compiled (anyplace/compile.h), in which a kernel may be a
                                       // template
#define __global__ __attribute__((visibility("hidden")))
#else
#define __global__                                                                                       \
  ::anyplace::device_code::KernelLinkage<__LINE__> ANYPLACE_JOIN(anyplace_kernel_linkage_of_, __LINE__); \
  static
#endif
#define ANYPLACE_JOIN(a, b) ANYPLACE_JOIN_EXPANDED(a, b)
#define ANYPLACE_JOIN_EXPANDED(a, b) a##b
#define __device__
#define __host__
#define __constant__
// A block stays on one thread of the host from beginning to end, and that thread runs no other block meanwhile.
#define __shared__ static thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __grid_constant__

// -- Where a thread is.
#define threadIdx (::anyplace::device_code::block_state.thread)
#define blockIdx (::anyplace::device_code::block_state.block)
#define blockDim (::anyplace::device_code::block_state.block_size)
#define gridDim (::anyplace::device_code::block_state.grid_size)

// -- Between threads. The memory order of the atomic functions is stronger than CUDA's, so that ThreadSanitizer sees
// what a fence orders.
#define __syncthreads() ::anyplace::device_code::barrier()
#define __threadfence() ::anyplace::device_code::fence()
#define __threadfence_block() ::anyplace::device_code::fence()
#define ANYPLACE_DEVICE_FUNCTION inline
#define ANYPLACE_ATOMIC_ORDER __ATOMIC_ACQ_REL
#include "atomics.h"
#include "bits.h"
#define ANYPLACE_DYNAMIC_SHARED(type, name)                                           \
  static_assert(alignof(type) <= 16, "dynamic shared memory is aligned to 16 bytes"); \
  type* const name = static_cast<type*>(::anyplace::device_code::block_state.shared)

// -- Mathematics that the host's library lacks, and the fast variants. The latter are macros because some are names of
// that library.
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
#define __sinf(x) ::sinf(x)
#define __cosf(x) ::cosf(x)
#define __expf(x) ::expf(x)
#define __logf(x) ::logf(x)
#define __log2f(x) ::log2f(x)
#define __powf(x, y) ::powf(x, y)
#define __fdividef(x, y) ((x) / (y))

// -- Export: makes a function of the form of anyplace_host_kernel for each kernel, under the kernel's own name, and
// NAME_parameters, which says how many arguments it takes and how large each is (docs/cpu_sim.md).
#define ANYPLACE_EXPORT_KERNEL(name) ANYPLACE_EXPORT_NAMED_KERNEL(name, #name, name)
// The kernel, an expression, under the `symbol`, a text; `name` is for what is declared.
#define ANYPLACE_EXPORT_NAMED_KERNEL(name, symbol, ...)                                                              \
  extern "C" __attribute__((visibility("default"))) ::anyplace_status anyplace_kernel_##name(                        \
      void*, const ::anyplace_block*, void* const*, const ::uint32_t*, ::uint32_t) __asm__(symbol);                  \
  ::anyplace_status anyplace_kernel_##name(void*, const ::anyplace_block* block, void* const* arguments,             \
                                           const ::uint32_t* sizes, ::uint32_t count) {                              \
    return ::anyplace::device_code::Export<&__VA_ARGS__>::run(*block, arguments, sizes, count);                      \
  }                                                                                                                  \
  extern "C" __attribute__((visibility("default")))                                                                  \
  const ::anyplace::device_code::Export<&__VA_ARGS__>::Parameters anyplace_parameters_##name __asm__(symbol          \
                                                                                                     "_parameters"); \
  constinit const ::anyplace::device_code::Export<& __VA_ARGS__>::Parameters anyplace_parameters_##name =            \
      ::anyplace::device_code::Export<&__VA_ARGS__>::parameters();

#if defined(ANYPLACE_RUN_TIME_SOURCE)
#define ANYPLACE_EXPORT_KERNELS(...) static_assert(true, "they are exported behind the source")
#else
#define ANYPLACE_EXPORT_KERNELS(...) \
  ANYPLACE_EXPAND_4(ANYPLACE_EXPORT_NEXT(__VA_ARGS__)) static_assert(true, "the kernels are exported")
#endif
#define ANYPLACE_EXPORT_NEXT(name, ...) \
  ANYPLACE_EXPORT_KERNEL(name) __VA_OPT__(ANYPLACE_EXPORT_AGAIN ANYPLACE_PARENTHESES(__VA_ARGS__))
#define ANYPLACE_EXPORT_AGAIN() ANYPLACE_EXPORT_NEXT
#define ANYPLACE_PARENTHESES ()
#define ANYPLACE_EXPAND_4(...) ANYPLACE_EXPAND_3(ANYPLACE_EXPAND_3(ANYPLACE_EXPAND_3(__VA_ARGS__)))
#define ANYPLACE_EXPAND_3(...) ANYPLACE_EXPAND_2(ANYPLACE_EXPAND_2(ANYPLACE_EXPAND_2(__VA_ARGS__)))
#define ANYPLACE_EXPAND_2(...) ANYPLACE_EXPAND_1(ANYPLACE_EXPAND_1(ANYPLACE_EXPAND_1(ANYPLACE_EXPAND_1(__VA_ARGS__))))
#define ANYPLACE_EXPAND_1(...) __VA_ARGS__
