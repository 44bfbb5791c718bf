// SPDX-License-Identifier: Apache-2.0
//
// The kernel of the stress program: what it leaves depends on what was there before, on its source and on its value, so that
// an order that is wrong, or memory that isn't its own, shows in all that comes after. `times` makes it slow.
#include <anyplace/device_code.h>
#include <stdint.h>

extern "C" __global__ void mix(uint32_t* to, const uint32_t* from, uint32_t count, uint32_t by, uint32_t times) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    uint32_t value = to[i];
    for (uint32_t time = 0; time < times; ++time) value = value * 1664525u + by + from[i];
    to[i] = value;
  }
}

ANYPLACE_EXPORT_KERNELS(mix);
