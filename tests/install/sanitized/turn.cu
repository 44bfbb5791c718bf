// SPDX-License-Identifier: Apache-2.0
#include <anyplace/device_code.h>

// Turns each block's numbers around, through shared memory and a barrier.
extern "C" __global__ void turn(unsigned* data) {
  ANYPLACE_DYNAMIC_SHARED(unsigned, own);
  own[threadIdx.x] = data[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  data[blockIdx.x * blockDim.x + threadIdx.x] = own[blockDim.x - 1 - threadIdx.x];
}

// All blocks write one number: a race.
extern "C" __global__ void trample(unsigned* data) { *data = blockIdx.x; }

ANYPLACE_EXPORT_KERNELS(turn, trample);
