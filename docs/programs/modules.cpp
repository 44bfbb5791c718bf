// SPDX-License-Identifier: Apache-2.0
#include <anyplace/anyplace.h>

#include <cstdio>
#include <vector>

// Takes the image of docs/programs/square.c as its argument: anyplace runs what the device takes, here a shared object.
int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: modules IMAGE\n");
    return 2;
  }
  const anyplace::Device device("cpu_sim:0");
  const anyplace::Module module = anyplace::Module::from_file(device, argv[1]);
  const anyplace::KernelView square = module.kernel("square");

  const anyplace::Stream stream(device);
  std::vector<std::uint32_t> data{1, 2, 3, 4, 5};
  const anyplace::Buffer buffer(stream, data.size() * sizeof(std::uint32_t));
  stream.copy(buffer, data);
  stream.launch(square, {static_cast<std::uint32_t>(data.size()), 1}, buffer);
  stream.copy(data, buffer);
  stream.synchronize();

  std::printf("%u %u %u %u %u\n", data[0], data[1], data[2], data[3], data[4]);
  return data == std::vector<std::uint32_t>{1, 4, 9, 16, 25} ? 0 : 1;
} catch (const anyplace::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
