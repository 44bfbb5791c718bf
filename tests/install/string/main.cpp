// SPDX-License-Identifier: Apache-2.0
// A kernel out of a string, by the installed compilers.
#include <anyplace/anyplace.h>
#include <anyplace/compile.h>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) try {
  const anyplace::Device device(argc > 1 ? argv[1] : "cpu_sim:0");
  const anyplace::Module module = anyplace::Module::compile(device, R"(
    extern "C" __global__ void square(int* numbers) { numbers[threadIdx.x] *= numbers[threadIdx.x]; })");
  const anyplace::Stream stream(device);
  std::vector<int> numbers{4, 3, 2, 1};
  const anyplace::Buffer buffer = anyplace::Buffer::of<int>(stream, numbers.size());
  stream.copy(buffer, numbers);
  stream.launch(module.kernel("square"), {1, 4}, buffer);
  stream.copy(numbers, buffer);
  stream.synchronize();
  std::printf("%s:", device.to_string().c_str());
  for (const int number : numbers) std::printf(" %d", number);
  std::printf("\n");
} catch (const anyplace::Error& error) {
  std::fprintf(stderr, "%s\n%s\n", error.what(), error.vendor_text().c_str());
  return 1;
}
