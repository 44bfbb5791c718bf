// SPDX-License-Identifier: Apache-2.0
// Linear regression: the gradient of the squared error, and a step down it. One thread for each weight, which adds up in
// the order of the samples: so the same samples give the same bits.
#include <anyplace/device_code.h>

extern "C" __global__ void gradient(const float* __restrict__ samples, const float* __restrict__ targets,
                                    const float* __restrict__ weights, float* __restrict__ out, unsigned count,
                                    unsigned features) {
  const unsigned feature = blockIdx.x * blockDim.x + threadIdx.x;
  if (feature >= features) return;
  float sum = 0;
  for (unsigned i = 0; i < count; ++i) {
    const float* const sample = samples + i * features;
    float error = -targets[i];
    for (unsigned other = 0; other < features; ++other) error += sample[other] * weights[other];
    sum += error * sample[feature];
  }
  out[feature] = sum;
}

extern "C" __global__ void step(float* __restrict__ weights, const float* __restrict__ slope, float rate,
                                unsigned features) {
  const unsigned feature = blockIdx.x * blockDim.x + threadIdx.x;
  if (feature < features) weights[feature] -= rate * slope[feature];
}

ANYPLACE_EXPORT_KERNELS(gradient, step);
