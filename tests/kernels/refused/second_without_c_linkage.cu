// SPDX-License-Identifier: Apache-2.0
// The same behind a kernel as it should be, and in a namespace.
#include <anyplace/device_code.h>

extern "C" __global__ void first(unsigned* data) { *data = 1; }
namespace part {
__global__ void second(unsigned* data) { *data = 2; }
ANYPLACE_EXPORT_KERNELS(second);
}  // namespace part
ANYPLACE_EXPORT_KERNELS(first);
