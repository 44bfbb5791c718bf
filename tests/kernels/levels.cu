// SPDX-License-Identifier: Apache-2.0
// Kernels that are compiled for several levels of x86-64, and tell which one they are.
#include <anyplace/device_code.h>

extern "C" __global__ void level(int* out) {
#if defined(__AVX512VL__)
  *out = 4;
#elif defined(__AVX2__)
  *out = 3;
#elif defined(__SSE4_2__)
  *out = 2;
#else
  *out = 1;
#endif
}

extern "C" __global__ void multiply_and_add(float* out, const float* in, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i] * in[count - 1 - i] + in[i / 2];
}

ANYPLACE_EXPORT_KERNELS(level, multiply_and_add);
