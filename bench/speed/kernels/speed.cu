// SPDX-License-Identifier: Apache-2.0
//
// The kernels of bench/speed that come from an image: an operation with eight arguments; a matrix product and sums of
// blocks as people write them, in shared memory between barriers; and SAXPY, which has none.
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

/// The sum of each block's 256 numbers, by halves.
extern "C" __global__ void sum_blocks(const float* numbers, float* sums) {
  __shared__ float own[256];
  own[threadIdx.x] = numbers[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) own[threadIdx.x] += own[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = own[0];
}

/// z = factor * x + y; y lies behind x.
extern "C" __global__ void saxpy(const float* x, float* z, float factor, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) z[i] = factor * x[i] + x[count + i];
}

ANYPLACE_EXPORT_KERNELS(eight, multiply, sum_blocks, saxpy);
