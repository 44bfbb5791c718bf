// SPDX-License-Identifier: Apache-2.0
// The kernel of docs/programs/one_source.cpp.
#include <anyplace/device_code.h>

// One sum for each block of 256 threads, through shared memory.
extern "C" __global__ void sum_blocks(float* sums, const float* numbers, unsigned count) {
  __shared__ float own[256];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  own[threadIdx.x] = i < count ? numbers[i] : 0.0f;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) own[threadIdx.x] += own[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = own[0];
}

ANYPLACE_EXPORT_KERNELS(sum_blocks);
