// SPDX-License-Identifier: Apache-2.0
//
// Kernels out of strings are loops, too, where Clang is called by the name of its version.
#include <anyplace/anyplace.h>
#include <anyplace/compile.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace string_test {

using namespace anyplace;

TEST_CASE("A string becomes loops, and the log says which kernel keeps its stacks") {
  const std::string targets[] = {"cpu_sim"};
  const CompiledKernels compiled = compile(R"(
    extern "C" __global__ void sum(unsigned* to, const unsigned* from) {
      __shared__ unsigned own[256];
      own[threadIdx.x] = from[threadIdx.x];
      __syncthreads();
      for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) own[threadIdx.x] += own[threadIdx.x + half];
        __syncthreads();
      }
      if (threadIdx.x == 0) to[0] = own[0];
    }
    __device__ unsigned meet(unsigned value) {
      __syncthreads();
      return value;
    }
    extern "C" __global__ void stays(unsigned* to, const unsigned* from) {
      unsigned (*const function)(unsigned) = from[0] == 0 ? meet : nullptr;
      to[threadIdx.x] = function(threadIdx.x);
    })",
                                           targets, {.compiler = "host", .cached = false});
  INFO(compiled.log());
  CHECK(compiled.log().find("kernel stays keeps a stack for each thread") != std::string::npos);
  CHECK(compiled.log().find("kernel sum") == std::string::npos);

  const Device device("cpu_sim:0");
  const Module module(device, compiled.images());
  const Stream stream(device);
  std::vector<std::uint32_t> numbers(256);
  std::iota(numbers.begin(), numbers.end(), 0u);
  const Buffer from(stream, 256 * sizeof(std::uint32_t)), to(stream, 256 * sizeof(std::uint32_t));
  stream.copy(from, numbers);
  std::vector<std::uint32_t> sum(256), same(256);
  stream.launch(module.kernel("sum"), {1, 256}, to, from);
  stream.copy(sum, to);
  stream.launch(module.kernel("stays"), {1, 256}, to, from);
  stream.copy(same, to);
  stream.synchronize();
  CHECK(sum[0] == 255 * 256 / 2);
  CHECK(same == numbers);
}

TEST_CASE("For a debugger a string keeps its stacks") {
  const std::string targets[] = {"cpu_sim"};
  const CompiledKernels compiled = compile("extern \"C\" __global__ void waits() { __syncthreads(); }", targets,
                                           {.debug = true, .compiler = "host", .cached = false});
  CHECK(compiled.log().empty());
  const Device device("cpu_sim:0");
  const Module module(device, compiled.images());
  const Stream stream(device);
  stream.launch(module.kernel("waits"), {2, 64});
  CHECK_NOTHROW(stream.synchronize());
}

}  // namespace string_test
