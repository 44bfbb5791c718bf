// SPDX-License-Identifier: Apache-2.0
//
// Kernels that can't become loops: a function that meets a barrier is called by its address, or calls itself; shared memory has a
// constructor, or a thread's own memory an alignment of which there is no array; lanes of a warp wait for each other. They keep a stack for each thread, beside
// others of the same source that don't.
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

__attribute__((noinline)) inline unsigned three() { return 3; }
struct Constructed {
  Constructed() : value(three()) {}
  unsigned value;
};

extern "C" __global__ void constructed(unsigned* to, const unsigned* from, unsigned count) {
  __shared__ Constructed common;
  const unsigned n = blockDim.x * blockDim.y * blockDim.z;
  const unsigned i = blockIdx.x * n + threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  to[i] = common.value + from[i % count];
}

__attribute__((noinline)) inline unsigned add_up(const unsigned (&values)[4]) {
  return values[0] + values[1] + values[2] + values[3] + static_cast<unsigned>(reinterpret_cast<uintptr_t>(values) % 128);
}

extern "C" __global__ void aligned(unsigned* to, const unsigned* from, unsigned count) {
  const unsigned n = blockDim.x * blockDim.y * blockDim.z;
  const unsigned i = blockIdx.x * n + threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  alignas(128) unsigned values[4] = {i, count, from[0], 1};
  __syncthreads();
  to[i] = add_up(values);
}

extern "C" __global__ void warp_sum(unsigned* to, const unsigned* from, unsigned count) {
  const unsigned n = blockDim.x * blockDim.y * blockDim.z;
  const unsigned i = blockIdx.x * n + threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned sum = from[i % count];
  for (unsigned half = 16; half > 0; half /= 2) sum += __shfl_down_sync(0xffffffffu, sum, half);
  __syncthreads();
  to[i] = __shfl_sync(0xffffffffu, sum, 0);
}

ANYPLACE_EXPORT_KERNELS(by_address, recursive, constructed, aligned, warp_sum);
