// SPDX-License-Identifier: Apache-2.0
// Dynamic shared memory the way that only a device's compiler knows.
#include <anyplace/device_code.h>

extern "C" __global__ void extern_shared(unsigned* data) {
  extern __shared__ unsigned own[];
  *data = own[0];
}
ANYPLACE_EXPORT_KERNELS(extern_shared);
