// SPDX-License-Identifier: Apache-2.0
//
// The kernel of crossing_test.cpp: what comes of several of them depends on their order.
#include <anyplace/device_code.h>
#include <stdint.h>

extern "C" __global__ void step(uint32_t* values, uint32_t count, uint32_t by) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = values[i] * 3 + by + i;
}

ANYPLACE_EXPORT_KERNELS(step);
