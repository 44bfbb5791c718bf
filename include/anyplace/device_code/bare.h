// SPDX-License-Identifier: Apache-2.0
//
// CUDA C++ for Clang without a vendor's headers: makes PTX (`-x cuda -nocudainc -nocudalib`), an AMD code object (`-x
// hip -nogpuinc -nogpulib`) or SPIR-V (the same with `--offload=spirv64`) where no vendor's software is installed. It
// is written over Clang's built-in functions for NVPTX and AMDGPU, which follow NVIDIA's PTX ISA and LLVM's User Guide
// for AMDGPU; spirv.h has what is SPIR-V's. anyplace_add_kernels defines ANYPLACE_BARE_DEVICE for it. printf, which
// needs the vendor's device library, isn't here.
#pragma once

#if defined(ANYPLACE_BARE_DEVICE)

#include <stddef.h>
#include <stdint.h>

#if defined(__SPIRV__)  // spirv.h defines __global__
// For variables with external linkage Clang makes a list that llvm-spirv refuses.
#define __device__ __attribute__((device, internal_linkage))
#define __constant__ __attribute__((constant, internal_linkage))
// `extern` in front contradicts it: dynamic shared memory is a parameter, which ANYPLACE_DYNAMIC_SHARED sees to.
#define __shared__ static __attribute__((shared))
#define __launch_bounds__(...)
#else
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#endif
#define __host__ __attribute__((host))
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __grid_constant__

#define ANYPLACE_DEVICE_FUNCTION static inline __attribute__((device))
#define ANYPLACE_ATOMIC_ORDER __ATOMIC_RELAXED

using clock_t = long;  // as in <time.h>

#include "vectors.h"
#if defined(__SPIRV__)
#include "spirv.h"
#endif
#include "atomics.h"
#include "bits.h"

// -- Where a thread is. The values are read where they are used, so they are expressions and not variables.
#if defined(__NVPTX__)

#define ANYPLACE_REGISTERS(name)                                       \
  (uint3{static_cast<unsigned int>(__nvvm_read_ptx_sreg_##name##_x()), \
         static_cast<unsigned int>(__nvvm_read_ptx_sreg_##name##_y()), \
         static_cast<unsigned int>(__nvvm_read_ptx_sreg_##name##_z())})
#define threadIdx ANYPLACE_REGISTERS(tid)
#define blockIdx ANYPLACE_REGISTERS(ctaid)
#define blockDim (dim3(ANYPLACE_REGISTERS(ntid)))
#define gridDim (dim3(ANYPLACE_REGISTERS(nctaid)))

#define __syncthreads() __nvvm_bar_sync(0)
ANYPLACE_DEVICE_FUNCTION void __threadfence() { __nvvm_membar_gl(); }
ANYPLACE_DEVICE_FUNCTION void __threadfence_block() { __nvvm_membar_cta(); }
ANYPLACE_DEVICE_FUNCTION float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
ANYPLACE_DEVICE_FUNCTION double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
ANYPLACE_DEVICE_FUNCTION float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
ANYPLACE_DEVICE_FUNCTION double rsqrt(double x) { return 1.0 / sqrt(x); }
ANYPLACE_DEVICE_FUNCTION long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }
ANYPLACE_DEVICE_FUNCTION clock_t clock() { return __nvvm_read_ptx_sreg_clock(); }

#elif defined(__AMDGCN__)

#define threadIdx                                                     \
  (uint3{static_cast<unsigned int>(__builtin_amdgcn_workitem_id_x()), \
         static_cast<unsigned int>(__builtin_amdgcn_workitem_id_y()), \
         static_cast<unsigned int>(__builtin_amdgcn_workitem_id_z())})
#define blockIdx                                                       \
  (uint3{static_cast<unsigned int>(__builtin_amdgcn_workgroup_id_x()), \
         static_cast<unsigned int>(__builtin_amdgcn_workgroup_id_y()), \
         static_cast<unsigned int>(__builtin_amdgcn_workgroup_id_z())})
#define blockDim \
  (dim3(__builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(), __builtin_amdgcn_workgroup_size_z()))
// The dispatch packet has the size of the grid in threads, so it is divided by the block's.
#define gridDim                                                               \
  (dim3(__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(), \
        __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(), \
        __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z()))

ANYPLACE_DEVICE_FUNCTION void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
ANYPLACE_DEVICE_FUNCTION void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
ANYPLACE_DEVICE_FUNCTION void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
ANYPLACE_DEVICE_FUNCTION float sqrtf(float x) { return __builtin_sqrtf(x); }
ANYPLACE_DEVICE_FUNCTION double sqrt(double x) { return __builtin_sqrt(x); }
ANYPLACE_DEVICE_FUNCTION float rsqrtf(float x) { return __builtin_amdgcn_rsqf(x); }
ANYPLACE_DEVICE_FUNCTION double rsqrt(double x) { return 1.0 / sqrt(x); }
ANYPLACE_DEVICE_FUNCTION long long clock64() { return static_cast<long long>(__builtin_readcyclecounter()); }
ANYPLACE_DEVICE_FUNCTION clock_t clock() { return clock64(); }

#elif !defined(__SPIRV__)
#error "ANYPLACE_BARE_DEVICE is for Clang's targets NVPTX, AMDGPU and SPIR-V"
#endif

#include "assert.h"
#include "bare_functions.h"
#include "bare_warps.h"

#endif  // ANYPLACE_BARE_DEVICE
