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
#include <time.h>

#include "export.h"
#include "host_block.h"
#include "vectors.h"

#include "assert.h"  // in place of the C library's, which would end the process

// -- Words.
#if defined(ANYPLACE_RUN_TIME_SOURCE)
#define __global__ __attribute__((visibility("hidden")))
#define __kernel__ static
#else
#define __global__         \
  ANYPLACE_KERNEL_LINKAGE; \
  static
#endif
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
#define ANYPLACE_DYNAMIC_SHARED_FUNCTION inline
#define ANYPLACE_DYNAMIC_SHARED_MEMORY (::anyplace::device_code::block_state.shared)
#include "dynamic_shared.h"
#define ANYPLACE_DYNAMIC_SHARED(type, name)                                       \
  [[maybe_unused]] const typename ANYPLACE_DYNAMIC_SHARED_HERE(type)::Type name = \
      ANYPLACE_DYNAMIC_SHARED_HERE(type)::get()

#include "host_warps.h"

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
#define __log10f(x) ::log10f(x)
#define __exp10f(x) ::exp10f(x)
#define __tanf(x) ::tanf(x)
#define __powf(x, y) ::powf(x, y)
#define __fdividef(x, y) ((x) / (y))

// -- Time: nanoseconds. clock() is the C library's.
inline long long clock64() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

// -- Export: makes a function of the form of anyplace_host_kernel for each kernel, under the kernel's own name, and
// NAME_parameters, which says how many arguments it takes and how large each is (docs/cpu_sim.md). Its own parameters
// have names that hide no kernel's.
#define ANYPLACE_EXPORT_KERNEL(name) ANYPLACE_EXPORT_NAMED_KERNEL(name, #name, name)
#define ANYPLACE_EXPORT_NAMED_KERNEL(name, symbol, ...)                                                              \
  extern "C" __attribute__((visibility("default"))) ::anyplace_status anyplace_kernel_##name(                        \
      void*, const ::anyplace_block*, void* const*, const ::uint32_t*, ::uint32_t) __asm__(symbol);                  \
  ::anyplace_status anyplace_kernel_##name(void*, const ::anyplace_block* anyplace_at,                               \
                                           void* const* anyplace_arguments, const ::uint32_t* anyplace_sizes,        \
                                           ::uint32_t anyplace_count) {                                              \
    ::uint32_t anyplace_blocks = 1;                                                                                  \
    return ::anyplace::device_code::Export<&__VA_ARGS__>::run(*anyplace_at, &anyplace_blocks, anyplace_arguments,    \
                                                              anyplace_sizes, anyplace_count);                       \
  }                                                                                                                  \
  ANYPLACE_EXPORT_ROW(name, symbol, __VA_ARGS__)                                                                     \
  extern "C" __attribute__((visibility("default")))                                                                  \
  const ::anyplace::device_code::Export<&__VA_ARGS__>::Parameters anyplace_parameters_##name __asm__(symbol          \
                                                                                                     "_parameters"); \
  constinit const ::anyplace::device_code::Export<& __VA_ARGS__>::Parameters anyplace_parameters_##name =            \
      ::anyplace::device_code::Export<&__VA_ARGS__>::parameters();

// Where the kernel may be loops: _row_of_NAME, which can run several blocks as one. Its name begins with '_', so it is
// no kernel's.
#if defined(ANYPLACE_BARRIER_LOOPS)
#define ANYPLACE_EXPORT_ROW(name, symbol, ...)                                                                   \
  extern "C" __attribute__((visibility("default"))) ::anyplace_status anyplace_row_##name(                       \
      void*, const ::anyplace_block*, ::uint32_t*, void* const*, const ::uint32_t*,                              \
      ::uint32_t) __asm__("_row_of_" symbol);                                                                    \
  ::anyplace_status anyplace_row_##name(void*, const ::anyplace_block* anyplace_at, ::uint32_t* anyplace_blocks, \
                                        void* const* anyplace_arguments, const ::uint32_t* anyplace_sizes,       \
                                        ::uint32_t anyplace_count) {                                             \
    return ::anyplace::device_code::Export<&__VA_ARGS__>::run(*anyplace_at, anyplace_blocks, anyplace_arguments, \
                                                              anyplace_sizes, anyplace_count);                   \
  }
#else
#define ANYPLACE_EXPORT_ROW(name, symbol, ...)
#endif
