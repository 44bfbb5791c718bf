// SPDX-License-Identifier: Apache-2.0
//
// Kernels written once, in CUDA C++, for every device. A source that includes this is compiled by nvcc, by hipcc, by
// Clang alone for either vendor and as SPIR-V, and by the compiler of the host for cpu_sim; anyplace_add_kernels() of
// the CMake package does that, and puts what comes out into the application. docs/kernels.md is the guide.
//
//   #include <anyplace/device_code.h>
//
//   extern "C" __global__ void scale(float* data, unsigned count, float by) {
//     const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
//     if (i < count) data[i] *= by;
//   }
//
//   ANYPLACE_EXPORT_KERNELS(scale);
//
// A kernel is `extern "C" __global__ void name(...)`, in that order; its parameters are passed by value, trivially
// copyable and laid out alike everywhere. It is launched with Stream::launch, not with <<< >>>.
//
//   ANYPLACE_EXPORT_KERNELS(a, b);        once behind the kernels of a source: those that are launched, up to 32
// ANYPLACE_DYNAMIC_SHARED(T, name);     in a kernel: `T* const name`, the shared memory that the launch asked for
//                                         (`extern __shared__ T name[];` is the same)
//
// All devices have: __global__, __device__, __host__, __shared__, __constant__, __forceinline__, __launch_bounds__,
// __align__; threadIdx, blockIdx, blockDim, gridDim; __syncthreads, __threadfence, __threadfence_block; atomicAdd, Sub,
// Exch, Min, Max, Inc, Dec, CAS, And, Or, Xor; dim3, the vector types of two to four and their make_ functions; min,
// max, the math functions (bare_functions.h lists those that Clang alone has) and their fast variants, and the bit
// functions of device_code/bits.h.
//
// warpSize and the functions of a warp, such as __shfl_sync and __syncwarp, are there unless ANYPLACE_NO_WARPS is
// defined, as for SPIR-V. The host lacks textures, launches by kernels and cooperative groups.
//
// It includes no other header of anyplace but those of device_code/ and, on the host, backend/abi.h.
#ifndef ANYPLACE_DEVICE_CODE_H
#define ANYPLACE_DEVICE_CODE_H

#if defined(ANYPLACE_BARE_DEVICE)  // Clang, without the vendor's headers; anyplace_add_kernels says so
#include "device_code/bare.h"
#elif defined(__CUDACC_RTC__)
#include "device_code/rtc.h"
#elif defined(__HIPCC_RTC__)
#elif defined(__CUDACC__)
#include <cuda_runtime.h>
#elif defined(__HIP__) || defined(__HIPCC__)
#include <hip/hip_runtime.h>
#else
/// Defined where the source is compiled for the host, whose threads stand for a device's.
#define ANYPLACE_DEVICE_CODE_ON_HOST 1
#include "device_code/host.h"
#endif

#if !defined(ANYPLACE_EXPORT_KERNELS)  // neither on the host nor for SPIR-V
// All kernels of a source share this one declaration: two of different types would contradict each other.
#define ANYPLACE_DYNAMIC_SHARED(type, name)                                           \
  extern __shared__ __align__(16) unsigned char anyplace_dynamic_shared[];            \
  static_assert(alignof(type) <= 16, "dynamic shared memory is aligned to 16 bytes"); \
  type* const name = reinterpret_cast<type*>(anyplace_dynamic_shared)
#define ANYPLACE_EXPORT_KERNELS(...) static_assert(true, "extern \"C\" exports them here")
#endif

#endif  // ANYPLACE_DEVICE_CODE_H
