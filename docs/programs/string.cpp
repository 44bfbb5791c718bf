// SPDX-License-Identifier: Apache-2.0
// A kernel from a string. docs/kernels.md prints it.
#include <anyplace/anyplace.h>
#include <anyplace/compile.h>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  const anyplace::Device device(argc > 1 ? argv[1] : "cpu_sim:0");
  const anyplace::Module module = anyplace::Module::compile(device, R"(
    extern "C" __global__ void scale(float* numbers, float by) { numbers[threadIdx.x] *= by; })");
  const anyplace::Stream stream(device);
  std::vector<float> numbers{1, 2, 3, 4};
  const anyplace::Buffer buffer = anyplace::Buffer::of<float>(stream, numbers.size());
  stream.copy(buffer, numbers);
  stream.launch(module.kernel("scale"), {1, 4}, buffer, 10.0f);
  stream.copy(numbers, buffer);
  stream.synchronize();
  for (const float number : numbers) std::printf("%g\n", static_cast<double>(number));  // 10 20 30 40
  return numbers.back() == 40 ? 0 : 1;
}
