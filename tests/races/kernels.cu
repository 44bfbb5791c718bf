// SPDX-License-Identifier: Apache-2.0
//
// The kernel of the programs: what it reads and writes is what its launches declare.
#include <anyplace/device_code.h>
#include <stdint.h>

extern "C" __global__ void add(uint32_t* to, const uint32_t* from, uint32_t count) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] += from[i];
}

ANYPLACE_EXPORT_KERNELS(add);
