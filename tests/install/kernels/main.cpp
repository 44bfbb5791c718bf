// SPDX-License-Identifier: Apache-2.0
//
// Squares four numbers and turns them around on the place it is given, with kernels of its own.
#include <anyplace/anyplace.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "squares_kernels.h"

int main(int argc, char** argv) try {
  const anyplace::Device device(argc > 1 ? argv[1] : "auto");
  const anyplace::Stream stream(device);
  anyplace::ModuleOptions options;
  options.metadata.push_back({"turn", 1});  // where dynamic shared memory is an argument, as in OpenCL C, which one
  const anyplace::Module kernels(device, squares_kernels, options);
  std::vector<std::uint32_t> numbers{1, 2, 3, 4};
  const anyplace::Buffer data(stream, numbers.size() * sizeof(std::uint32_t));
  stream.copy(data, numbers);
  stream.launch(kernels.kernel("square"), {2, 2}, data, std::uint32_t{4});
  stream.launch(kernels.kernel("turn"), {1, 4, 4 * sizeof(std::uint32_t)}, data);
  stream.copy(numbers, data);
  stream.synchronize();
  std::printf("%s: %u %u %u %u\n", device.to_string().c_str(), numbers[0], numbers[1], numbers[2], numbers[3]);
  return 0;
} catch (const anyplace::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
