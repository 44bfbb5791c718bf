// SPDX-License-Identifier: Apache-2.0
//
// The first use of a place in this process: the plugin is loaded, its backend made, and one stream. Prints the
// nanoseconds until then, and those of a first operation with its wait.
//
//   speed_first_use [PLACE]
#include <anyplace/anyplace.h>

#include <chrono>
#include <cstdio>
#include <exception>

int main(int argc, char** argv) try {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const anyplace::Device device(argc > 1 ? argv[1] : "cpu_sim:0");
  const anyplace::Stream stream(device);
  const auto made = Clock::now();
  bool ran = false;
  const anyplace::Kernel kernel(device, [&ran](const anyplace::Block&) { ran = true; });
  stream.launch(kernel, {1, 1});
  stream.synchronize();
  const auto end = Clock::now();
  const auto nanoseconds = [](auto duration) {
    return static_cast<long long>(std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
  };
  std::printf("{\"stream\": %lld, \"operation\": %lld}\n", nanoseconds(made - start), nanoseconds(end - made));
  return ran ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "speed_first_use: %s\n", error.what());
  return 1;
}
