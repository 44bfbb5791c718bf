// SPDX-License-Identifier: Apache-2.0
// A kernel whose name a device's compiler mangles: the device would have no "no_c_linkage", but "_Z12no_c_linkagePj".
#include <anyplace/device_code.h>

__global__ void no_c_linkage(unsigned* data) { *data = 1; }
ANYPLACE_EXPORT_KERNELS(no_c_linkage);
