// SPDX-License-Identifier: Apache-2.0
//
// Kernels that can't become loops: a function that meets a barrier is called by its address, or calls itself. They keep a stack
// for each thread, beside others of the same source that don't.
#include <anyplace/device_code.h>

__device__ inline unsigned wait_and_add(unsigned value) {
  __syncthreads();
  return value + 1;
}
__device__ inline unsigned wait_and_double(unsigned value) {
  __syncthreads();
  return value * 2;
}

extern "C" __global__ void by_address(unsigned* to, const unsigned* from, unsigned count) {
  const unsigned n = blockDim.x * blockDim.y * blockDim.z;
  const unsigned i = blockIdx.x * n + threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned (*const function)(unsigned) = from[i % count] % 2 == 0 ? wait_and_add : wait_and_double;
  to[i] = function(i);
}

__device__ inline unsigned descend(unsigned* own, unsigned t, unsigned depth) {
  own[t] += depth;
  __syncthreads();
  return depth == 0 ? own[t] : 3 * descend(own, t, depth - 1) + own[0];
}

extern "C" __global__ void recursive(unsigned* to, const unsigned* from, unsigned count) {
  __shared__ unsigned own[1024];
  const unsigned n = blockDim.x * blockDim.y * blockDim.z;
  const unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  own[t] = from[0];
  __syncthreads();
  const unsigned first = descend(own, t, count % 4 + 1);
  __syncthreads();
  to[blockIdx.x * n + t] = t == 0 ? 0 : first;
}

ANYPLACE_EXPORT_KERNELS(by_address, recursive);
