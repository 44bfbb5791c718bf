// SPDX-License-Identifier: Apache-2.0
//
// The kernels of bench/speed that come from an image: an operation with eight arguments, and a matrix product as people
// write it, a tile in shared memory between barriers.
#include <anyplace/device_code.h>

/// Counts in count[0] how often it ran. The rest is there to be passed.
extern "C" __global__ void eight(unsigned long long* count, const float* a, const float* b, float* c, float alpha,
                                 float beta, int rows, int columns) {
  if (columns < rows) c[columns & 15] = alpha * a[0] + beta * b[0];
  count[0] += 1;
}

/// c = a * b, of size x size. size is a multiple of the tile.
extern "C" __global__ void multiply(const float* a, const float* b, float* c, int size) {
  constexpr int tile = 16;
  __shared__ float of_a[tile][tile];
  __shared__ float of_b[tile][tile];
  const int row = static_cast<int>(blockIdx.y) * tile + static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * tile + static_cast<int>(threadIdx.x);
  float sum = 0;
  for (int step = 0; step < size; step += tile) {
    of_a[threadIdx.y][threadIdx.x] = a[row * size + step + static_cast<int>(threadIdx.x)];
    of_b[threadIdx.y][threadIdx.x] = b[(step + static_cast<int>(threadIdx.y)) * size + column];
    __syncthreads();
    for (int k = 0; k < tile; ++k) sum += of_a[threadIdx.y][k] * of_b[k][threadIdx.x];
    __syncthreads();
  }
  c[row * size + column] = sum;
}

ANYPLACE_EXPORT_KERNELS(eight, multiply);
