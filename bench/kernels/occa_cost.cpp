// SPDX-License-Identifier: Apache-2.0
//
// Kernels out of a string beside OCCA's, whose Serial mode compiles for the host as cpu_sim does: until one has run for
// the first time, without a cache and with a hit in it. Built where CMake finds OCCA (https://libocca.org); a miss is a
// number in the source that wasn't there before.
//
//   occa_cost [--benchmark_...]
#include <anyplace/anyplace.h>
#include <anyplace/compile.h>
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <occa.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "two_kernels.h"

namespace {

constexpr int count = 1024;

// The two kernels of two_kernels.h in OCCA's words. The second one is launched.
const std::string okl = R"(
@kernel void sum_blocks(float* sums, const float* numbers, const int count) {
  for (int block = 0; block < (count + 255) / 256; ++block; @outer) {
    @shared float own[256];
    for (int x = 0; x < 256; ++x; @inner) own[x] = block * 256 + x < count ? numbers[block * 256 + x] : 0.0f;
    for (int half = 128; half > 0; half /= 2) {
      for (int x = 0; x < 256; ++x; @inner) {
        if (x < half) own[x] += own[x + half];
      }
    }
    for (int x = 0; x < 256; ++x; @inner) {
      if (x == 0) sums[block] = own[0];
    }
  }
}
@kernel void scale(float* numbers, const float by, const int count) {
  for (int i = 0; i < count; ++i; @tile(256, @outer, @inner)) numbers[i] *= by;
}
)";

std::string with_number(const std::string& source, int number) {
  return "// " + std::to_string(number) + "\n" + source;
}

void run_ours(const std::string& source) {
  const anyplace::Device device("cpu_sim:0");
  const anyplace::Stream stream(device);
  const anyplace::Buffer numbers(stream, count * sizeof(float));
  const anyplace::Module module = anyplace::Module::compile(device, source);
  stream.launch(module.kernel("scale"), {count / 256, 256}, numbers, 2.0F, std::uint32_t{count});
  stream.synchronize();
}

void run_occa(const std::string& source) {
  occa::device device({{"mode", "Serial"}});  // one that is made anew knows nothing of what was built before
  occa::memory numbers = device.malloc<float>(count);
  device.buildKernelFromString(source, "scale")(numbers, 2.0F, count);
  device.finish();
}

double processor_seconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    ::getrusage(static_cast<__rusage_who>(who), &used);
    for (const timeval& part : {used.ru_utime, used.ru_stime}) {
      seconds += static_cast<double>(part.tv_sec) + static_cast<double>(part.tv_usec) * 1e-6;
    }
  }
  return seconds;
}

void add(const char* name, void (*run)(const std::string&), const std::string& source, bool is_miss) {
  const auto body = [=](benchmark::State& state) {
    static int number = 0;
    run(source);
    const double began = processor_seconds();
    for (auto _ : state) run(is_miss ? with_number(source, ++number) : source);
    state.counters["processor_ms"] =
        benchmark::Counter((processor_seconds() - began) * 1e3, benchmark::Counter::kAvgIterations);
  };
  benchmark::RegisterBenchmark(name, body)->Unit(benchmark::kMillisecond)->UseRealTime();
}

}  // namespace

int main(int argc, char** argv) try {
  std::string folder = std::filesystem::temp_directory_path() / "occa_cost.XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("can't make a folder for the caches");
  ::setenv("ANYPLACE_CACHE", (folder + "/anyplace").c_str(), 1);
  occa::env::setOccaCacheDir(folder + "/occa");
  benchmark::Initialize(&argc, argv);
  add("miss: cpu_sim", run_ours, two_kernels, true);
  add("miss: OCCA, Serial", run_occa, okl, true);
  add("hit: cpu_sim", run_ours, two_kernels, false);
  add("hit: OCCA, Serial", run_occa, okl, false);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  std::filesystem::remove_all(folder);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "occa_cost: %s\n", error.what());
  return 1;
}
