// SPDX-License-Identifier: Apache-2.0
//
// What compile_cost and occa_cost compile: a kernel with shared memory and barriers, and one without.
#pragma once

constexpr const char* two_kernels = R"(
extern "C" __global__ void sum_blocks(float* sums, const float* numbers, unsigned count) {
  __shared__ float own[256];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  own[threadIdx.x] = i < count ? numbers[i] : 0.0f;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) own[threadIdx.x] += own[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = own[0];
}
extern "C" __global__ void scale(float* numbers, float by, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] *= by;
})";
