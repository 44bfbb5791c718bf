// SPDX-License-Identifier: Apache-2.0
// A parameter that is laid out differently on a device.
#include <anyplace/device_code.h>

extern "C" __global__ void takes_long_double(float* data, long double value) { *data = static_cast<float>(value); }
ANYPLACE_EXPORT_KERNELS(takes_long_double);
