// SPDX-License-Identifier: Apache-2.0
#include <anyplace/anyplace.h>

#include <cstdio>
#include <vector>

int main() {
  const anyplace::Device device("cpu_sim:0");
  const anyplace::Stream stream(device);
  std::vector<float> data(1000, 2.0f);
  const anyplace::Buffer buffer(stream, data.size() * sizeof(float));

  // Called once per block; it goes over the block's threads itself, and keeps off what lies beyond the data.
  const anyplace::Kernel scale(device, [](const anyplace::Block& block, float* values, std::uint32_t count, float by) {
    block.for_each_thread([&](const anyplace::Thread& thread) {
      if (thread.global[0] < count) values[thread.global[0]] *= by;
    });
  });

  const auto count = static_cast<std::uint32_t>(data.size());
  stream.copy(buffer, data);
  stream.launch(scale, {(count + 255) / 256, 256}, buffer, count, 21.0f);
  stream.copy(data, buffer);
  stream.synchronize();

  std::printf("%.0f ... %.0f\n", static_cast<double>(data.front()), static_cast<double>(data.back()));
  return data.front() == 42.0f && data.back() == 42.0f ? 0 : 1;
}
