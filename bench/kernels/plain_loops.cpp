// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of speed/kernels/speed.cu compute, in loops as they are written by hand: loops_cost compiles this
// with several compilers.
#include <cstring>

extern "C" void multiply(const float* a, const float* b, float* c) {
  constexpr int size = 512, tile = 16;
  for (int row = 0; row < size; row += tile) {
    for (int column = 0; column < size; column += tile) {
      float of_a[tile][tile], of_b[tile][tile], sums[tile][tile] = {};
      for (int step = 0; step < size; step += tile) {
        for (int y = 0; y < tile; ++y) {
          std::memcpy(of_a[y], &a[(row + y) * size + step], sizeof(of_a[y]));
          std::memcpy(of_b[y], &b[(step + y) * size + column], sizeof(of_b[y]));
        }
        for (int y = 0; y < tile; ++y) {
          for (int k = 0; k < tile; ++k) {
            for (int x = 0; x < tile; ++x) sums[y][x] += of_a[y][k] * of_b[k][x];
          }
        }
      }
      for (int y = 0; y < tile; ++y) std::memcpy(&c[(row + y) * size + column], sums[y], sizeof(sums[y]));
    }
  }
}

extern "C" void sum_blocks(const float* numbers, float* sums, int blocks) {
  constexpr int block = 256;
  for (int i = 0; i < blocks; ++i) {
    float own[block];
    std::memcpy(own, &numbers[i * block], sizeof(own));
    for (int half = block / 2; half > 0; half /= 2) {
      for (int x = 0; x < half; ++x) own[x] += own[x + half];
    }
    sums[i] = own[0];
  }
}

extern "C" void saxpy(const float* __restrict__ x, float* __restrict__ z, float factor, int count) {
  for (int i = 0; i < count; ++i) z[i] = factor * x[i] + x[count + i];
}
