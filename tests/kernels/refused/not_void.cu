// SPDX-License-Identifier: Apache-2.0
// A kernel that returns something.
#include <anyplace/device_code.h>

extern "C" __global__ int not_void(unsigned* data) { return static_cast<int>(*data); }
ANYPLACE_EXPORT_KERNELS(not_void);
