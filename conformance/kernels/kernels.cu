/* SPDX-License-Identifier: Apache-2.0
 *
 * The test kernels (README.md) in CUDA C++, for every device but the host.
 */
#include <anyplace/device_code.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

/* A variable of the module. */
extern "C" __device__ u32 numbers[4] = {2, 3, 5, 7};

extern "C" __global__ void fill(u32* data, u32 count, u32 value) {
  const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = value;
}

extern "C" __global__ void axpy(float* y, const float* x, float a, u32 count) {
  const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] += a * x[i];
}

extern "C" __global__ void indices(u32* out) {
  const u64 x = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  const u64 y = (u64)blockIdx.y * blockDim.y + threadIdx.y;
  const u64 z = (u64)blockIdx.z * blockDim.z + threadIdx.z;
  const u64 width = (u64)gridDim.x * blockDim.x;
  const u64 height = (u64)gridDim.y * blockDim.y;
  u32* const mine = out + 12 * ((z * height + y) * width + x);
  mine[0] = blockIdx.x;
  mine[1] = blockIdx.y;
  mine[2] = blockIdx.z;
  mine[3] = threadIdx.x;
  mine[4] = threadIdx.y;
  mine[5] = threadIdx.z;
  mine[6] = gridDim.x;
  mine[7] = gridDim.y;
  mine[8] = gridDim.z;
  mine[9] = blockDim.x;
  mine[10] = blockDim.y;
  mine[11] = blockDim.z;
}

extern "C" __global__ void arguments(u64* out, u8 a, u16 b, u32 c, u64 d, float e, int f) {
  if ((blockIdx.x | blockIdx.y | blockIdx.z | threadIdx.x | threadIdx.y | threadIdx.z) != 0) return;
  union {
    float value;
    u32 bits;
  } both;
  both.value = e;
  out[0] = a;
  out[1] = b;
  out[2] = c;
  out[3] = d;
  out[4] = both.bits;
  out[5] = (u64)(long long)f;
}

/* A call of the module's own. */
static __device__ __attribute__((noinline)) u32 scaled(u32 value, u32 by) { return value * 1000 + by; }

extern "C" __global__ void look_up(u32* out, u32 count) {
  const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = scaled(numbers[i % 4], (u32)i);
}

ANYPLACE_EXPORT_KERNELS(fill, axpy, indices, arguments, look_up);

/* Behind what the others are exported by: in SPIR-V it has a parameter more. */
extern "C" __global__ void block_sum(u32* sums, const u32* values) {
  ANYPLACE_DYNAMIC_SHARED(u32, shared);
  const u32 t = threadIdx.x;
  shared[t] = values[(u64)blockIdx.x * blockDim.x + t];
  __syncthreads();
  if (t == 0) {
    u32 sum = 0;
    for (u32 i = 0; i < blockDim.x; ++i) sum += shared[i];
    sums[blockIdx.x] = sum;
  }
}

ANYPLACE_EXPORT_KERNELS(block_sum);
