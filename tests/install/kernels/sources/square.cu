// SPDX-License-Identifier: Apache-2.0
#include <anyplace/device_code.h>
#include <power.h>

extern "C" __global__ void square(unsigned* data, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = power_of(data[i]);
}
ANYPLACE_EXPORT_KERNELS(square);
