// SPDX-License-Identifier: Apache-2.0
#include <anyplace/device_code.h>

// Turns each block's numbers around, through shared memory and a barrier.
extern "C" __global__ void turn(unsigned* data) {
  ANYPLACE_DYNAMIC_SHARED(unsigned, own);
  own[threadIdx.x] = data[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  data[blockIdx.x * blockDim.x + threadIdx.x] = own[blockDim.x - 1 - threadIdx.x];
}

// All blocks write one number: a race. The first one waits for another before it writes, so that two threads have
// blocks, however busy the machine is; its patience has an end, in case that one thread has all blocks.
extern "C" __global__ void trample(unsigned* data) {
  unsigned* const arrived = data + 16;
  atomicAdd(arrived, 1u);
  for (unsigned patience = 1u << 25; patience != 0 && atomicAdd(arrived, 0u) < 2; --patience) {
  }
  data[0] = blockIdx.x;
}

ANYPLACE_EXPORT_KERNELS(turn, trample);
