// SPDX-License-Identifier: Apache-2.0
// What a compiler must be able to compile to be used for kernels.
#include <anyplace/device_code.h>

extern "C" __global__ void check(unsigned* data) {
  __shared__ unsigned last;
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  last = i;
  __syncthreads();
  atomicAdd(data + i, last);
}
ANYPLACE_EXPORT_KERNELS(check);
