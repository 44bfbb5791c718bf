// SPDX-License-Identifier: Apache-2.0
// A kernel whose parameter isn't passed by value.
#include <anyplace/device_code.h>

extern "C" __global__ void by_reference(unsigned* data, const unsigned& value) { *data = value; }
ANYPLACE_EXPORT_KERNELS(by_reference);
