// SPDX-License-Identifier: Apache-2.0
// A device takes it; whether a kernel in braces has its linkage from them can't be told on the host.
#include <anyplace/device_code.h>

extern "C" {
__global__ void in_braces(unsigned* data) { *data = 1; }
}
ANYPLACE_EXPORT_KERNELS(in_braces);
