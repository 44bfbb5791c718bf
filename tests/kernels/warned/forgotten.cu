// SPDX-License-Identifier: Apache-2.0
// A kernel that is forgotten where they are exported.
#include <anyplace/device_code.h>

extern "C" __global__ void forgotten(unsigned* data) { *data = 1; }  // expected-warning {{unused function 'forgotten'}}
extern "C" __global__ void exported(unsigned* data) { *data = 1; }
ANYPLACE_EXPORT_KERNELS(exported);
