// SPDX-License-Identifier: Apache-2.0
// Adds up numbers on any device, with the kernel of sum.cu.
#include <anyplace/anyplace.h>

#include <cstdio>
#include <numeric>
#include <vector>

#include "sum_kernels.h"  // made by anyplace_add_kernels

int main(int argc, char** argv) try {
  const anyplace::Device device(argc > 1 ? argv[1] : "cpu_sim:0");
  const anyplace::Module kernels(device, sum_kernels);  // picks the image that this device takes
  const anyplace::Stream stream(device);

  std::vector<float> host(1000);
  std::iota(host.begin(), host.end(), 1.0f);
  const auto count = static_cast<std::uint32_t>(host.size()), blocks = (count + 255) / 256;
  std::vector<float> parts(blocks);
  const anyplace::Buffer numbers(stream, count * sizeof(float)), sums(stream, blocks * sizeof(float));
  stream.copy(numbers, host);
  stream.launch(kernels.kernel("sum_blocks"), {blocks, 256}, sums, numbers, count);
  stream.copy(parts, sums);
  stream.synchronize();

  const float sum = std::accumulate(parts.begin(), parts.end(), 0.0f);
  std::printf("%s: %.0f\n", device.to_string().c_str(), static_cast<double>(sum));
  return sum == 500500.0f ? 0 : 1;
} catch (const anyplace::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
