// SPDX-License-Identifier: Apache-2.0
#include <anyplace/device_code.h>

extern "C" __global__ void halve(float* data) { data[blockIdx.x] /= 2; }
ANYPLACE_EXPORT_KERNELS(halve);
