// SPDX-License-Identifier: Apache-2.0
//
// Kernels for every processor and for x86-64-v3, compiled out of speed/kernels/speed.cu while this runs, beside the
// same in loops (plain_loops.cpp) by several compilers, and the product beside PoCL. The figure is the processor's time
// of the whole process, in which it makes no difference how many threads there are.
//
//   loops_cost [--benchmark_...]
#include <anyplace/anyplace.h>
#include <anyplace/compile.h>
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "opencl_product.h"

namespace {

constexpr int size = 512, blocks = 4096, block = 256, count = 1 << 20;
constexpr float factor = 3;

std::vector<float> input() {
  std::vector<float> numbers(std::size_t{2} * count);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * 2654435761U >> 24);
  return numbers;
}

std::string text_of(const char* path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(std::string("can't read ") + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

using Run = std::function<void()>;

void add(const std::string& name, const Run& run) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [run](benchmark::State& state) {
                                 for (auto _ : state) run();
                               })
      ->Unit(benchmark::kMillisecond)
      ->MeasureProcessCPUTime();
}

/// Throws if two results differ by more than an addition that is fused or not.
void compare(const std::string& name, const std::vector<float>& a, const std::vector<float>& b, int of) {
  for (int i = 0; i < of; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (std::abs(a[at] - b[at]) > 1e-4F * std::abs(b[at])) throw std::runtime_error(name + " differs from the loop");
  }
}

/// The loops by one compiler. They stay loaded.
struct Loops {
  void (*multiply)(const float*, const float*, float*);
  void (*sum_blocks)(const float*, float*, int);
  void (*saxpy)(const float*, float*, float, int);

  static const Loops* by(const std::string& compiler) {
    static int number = 0;  // dlopen takes a file of the same name for the library that it has loaded already
    const std::string name = "loops_cost." + std::to_string(::getpid()) + "." + std::to_string(number++) + ".so";
    const std::string made = std::filesystem::temp_directory_path() / name;
    const std::string command = compiler + " -fPIC -shared -o " + made + " " LOOPS_SOURCE " 2>/dev/null";
    void* library = nullptr;
    if (std::system(command.c_str()) == 0) library = ::dlopen(made.c_str(), RTLD_NOW | RTLD_LOCAL);
    std::filesystem::remove(made);
    if (library == nullptr) return nullptr;
    auto* const loops = new Loops;  // for as long as the program runs
    const auto find = [&](auto& entry, const char* name) {
      entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(::dlsym(library, name));
    };
    find(loops->multiply, "multiply");
    find(loops->sum_blocks, "sum_blocks");
    find(loops->saxpy, "saxpy");
    return loops;
  }
};

/// The kernels in one image.
class Kernels {
 public:
  Kernels(const std::string& target, const std::vector<std::string>& words, const std::vector<float>& numbers)
      : device_("cpu_sim:0"),
        stream_(device_),
        module_(device_, compiled(target, words).images()),
        there_(stream_, numbers.size() * sizeof(float)),
        made_(stream_, std::size_t{count} * sizeof(float)) {
    stream_.copy(there_, numbers);
    stream_.synchronize();
  }
  void multiply() {
    stream_.launch(module_.kernel("multiply"), {{size / 16, size / 16}, {16, 16}}, there_, there_, made_, size);
    stream_.synchronize();
  }
  void sum_blocks() {
    stream_.launch(module_.kernel("sum_blocks"), {blocks, block}, there_, made_);
    stream_.synchronize();
  }
  void saxpy() {
    stream_.launch(module_.kernel("saxpy"), {count / block, block}, there_, made_, factor,
                   static_cast<unsigned>(count));
    stream_.synchronize();
  }
  std::vector<float> result() {
    std::vector<float> back(count);
    stream_.copy(back, made_);
    stream_.synchronize();
    return back;
  }

 private:
  anyplace::CompiledKernels compiled(const std::string& target, const std::vector<std::string>& words) {
    const std::vector<std::string> targets{target};
    made_of_ = anyplace::compile(text_of(KERNELS_SOURCE), targets, {.compiler_options = words, .compiler = "host"});
    return made_of_;
  }
  anyplace::CompiledKernels made_of_;
  anyplace::Device device_;
  anyplace::Stream stream_;
  anyplace::Module module_;
  anyplace::Buffer there_, made_;
};

void add_loops(const std::string& compiler, const std::vector<float>& numbers, std::vector<float>& result) {
  const Loops* const loops = Loops::by(compiler);
  if (loops == nullptr) {
    std::printf("%s: left out, it doesn't compile here\n", compiler.c_str());
    return;
  }
  add("product/" + compiler,
      [=, &numbers, &result] { loops->multiply(numbers.data(), numbers.data(), result.data()); });
  add("sums/" + compiler, [=, &numbers, &result] { loops->sum_blocks(numbers.data(), result.data(), blocks); });
  add("saxpy/" + compiler, [=, &numbers, &result] { loops->saxpy(numbers.data(), result.data(), factor, count); });
}

void add_kernels(const std::string& target, const std::vector<std::string>& words, const std::vector<float>& numbers,
                 const Loops& loops, std::vector<float>& result) {
  try {
    auto* const kernels = new Kernels(target, words, numbers);  // for as long as the program runs
    const std::string name = "cpu_sim " + target + (words.empty() ? "" : " " + words.front());
    loops.multiply(numbers.data(), numbers.data(), result.data());
    kernels->multiply();
    compare("product/" + name, kernels->result(), result, size * size);
    loops.sum_blocks(numbers.data(), result.data(), blocks);
    kernels->sum_blocks();
    compare("sums/" + name, kernels->result(), result, blocks);
    loops.saxpy(numbers.data(), result.data(), factor, count);
    kernels->saxpy();
    compare("saxpy/" + name, kernels->result(), result, count);
    add("product/" + name, [=] { kernels->multiply(); });
    add("sums/" + name, [=] { kernels->sum_blocks(); });
    add("saxpy/" + name, [=] { kernels->saxpy(); });
  } catch (const anyplace::Error& error) {
    std::printf("%s: left out, %s\n", target.c_str(), error.what());
  }
}

}  // namespace

int main(int argc, char** argv) try {
  ::setenv("ANYPLACE_CPU_SIM_WORKERS", "1", 1);
  ::setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
  benchmark::Initialize(&argc, argv);
  const std::vector<float> numbers = input();
  std::vector<float> result(count);
  const Loops* const reference = Loops::by("c++ -O2");
  if (reference == nullptr) throw std::runtime_error("c++ doesn't compile " LOOPS_SOURCE);
  for (const char* const target : {"shared_object", "x86-64-v3"}) add_kernels(target, {}, numbers, *reference, result);
  // Clang fuses multiplications and additions of a loop where the processor can, unless it is told not to.
  add_kernels("x86-64-v3", {"-ffp-contract=fast"}, numbers, *reference, result);
  for (const char* const flags : {" -O3", " -O3 -march=x86-64-v3"}) {
    for (const char* const compiler : {"clang++-14", "g++"}) add_loops(std::string(compiler) + flags, numbers, result);
  }
  std::string reason;
  bench::OpenClProduct* const product = bench::OpenClProduct::make(numbers.data(), size, reason);
  if (product == nullptr) std::printf("PoCL: left out, %s\n", reason.c_str());
  if (product != nullptr) {
    reference->multiply(numbers.data(), numbers.data(), result.data());
    product->run();
    compare("product/" + product->name(), product->result(), result, size * size);
    add("product/" + product->name(), [=] { product->run(); });
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "loops_cost: %s\n", error.what());
  return 1;
}
