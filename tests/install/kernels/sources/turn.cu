// SPDX-License-Identifier: Apache-2.0
#include <anyplace/device_code.h>

// The values of a block in reverse order, through shared memory.
extern "C" __global__ void turn(unsigned* data) {
  ANYPLACE_DYNAMIC_SHARED(unsigned, own);
  const unsigned first = blockIdx.x * blockDim.x;
  own[threadIdx.x] = data[first + threadIdx.x];
  __syncthreads();
  data[first + threadIdx.x] = own[blockDim.x - 1 - threadIdx.x];
}
ANYPLACE_EXPORT_KERNELS(turn);
