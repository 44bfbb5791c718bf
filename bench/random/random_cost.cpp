// SPDX-License-Identifier: Apache-2.0
//
// Random numbers on one core of the host: cpu_sim's fills, submitted and waited for, beside std::mt19937 with the
// standard library's distributions. bytes_per_second is of what was filled. `table` runs it, and NumPy beside it.
#include <anyplace/anyplace.h>
#include <benchmark/benchmark.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

/// In the cache of the second level, as what is drawn is used soon.
constexpr std::int64_t count = 1 << 16;

void count_bytes(benchmark::State& state, std::size_t element) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * count * static_cast<std::int64_t>(element));
}

/// A fill of a device's memory.
template <class Fill>
void fill_device(benchmark::State& state, anyplace::DType type, Fill fill) {
  const anyplace::Device device("cpu_sim:0");
  const anyplace::Stream stream(device);
  const anyplace::Generator generator(device);
  const anyplace::Buffer buffer(stream, static_cast<std::uint64_t>(count) * anyplace::size_of(type));
  const anyplace::RandomTarget target(buffer, type, count);
  for (auto _ : state) {
    fill(generator, stream, target);
    stream.synchronize();
  }
  count_bytes(state, anyplace::size_of(type));
}

/// The same by the standard library.
template <class T, class Distribution>
void fill_vector(benchmark::State& state, Distribution distribution) {
  std::mt19937 engine;
  std::vector<T> numbers(count);
  for (auto _ : state) {
    for (T& number : numbers) number = static_cast<T>(distribution(engine));
    benchmark::DoNotOptimize(numbers.data());
    benchmark::ClobberMemory();
  }
  count_bytes(state, sizeof(T));
}

template <class Distribution>
void fill_floats(benchmark::State& state, Distribution distribution) {
  fill_vector<float>(state, distribution);
}
template <class Distribution>
void fill_doubles(benchmark::State& state, Distribution distribution) {
  fill_vector<double>(state, distribution);
}
template <class Distribution>
void fill_words(benchmark::State& state, Distribution distribution) {
  fill_vector<std::int32_t>(state, distribution);
}
template <class Distribution>
void fill_bytes(benchmark::State& state, Distribution distribution) {
  fill_vector<std::uint8_t>(state, distribution);
}

using anyplace::DType;
using anyplace::Generator;
using anyplace::RandomTarget;
using anyplace::StreamView;

const auto uniform = [](const Generator& generator, const StreamView& stream, const RandomTarget& target) {
  generator.uniform(stream, target);
};
const auto normal = [](const Generator& generator, const StreamView& stream, const RandomTarget& target) {
  generator.normal(stream, target);
};
const auto exponential = [](const Generator& generator, const StreamView& stream, const RandomTarget& target) {
  generator.exponential(stream, target);
};
const auto dice = [](const Generator& generator, const StreamView& stream, const RandomTarget& target) {
  generator.integers(stream, target, 1, 6);
};
const auto coins = [](const Generator& generator, const StreamView& stream, const RandomTarget& target) {
  generator.bernoulli(stream, target, 0.1);
};
const auto permutation = [](const Generator& generator, const StreamView& stream, const RandomTarget& target) {
  generator.permutation(stream, target);
};

BENCHMARK_CAPTURE(fill_device, uniform_f32, DType::f32, uniform)->UseRealTime();
BENCHMARK_CAPTURE(fill_device, uniform_f64, DType::f64, uniform)->UseRealTime();
BENCHMARK_CAPTURE(fill_device, uniform_f16, DType::f16, uniform)->UseRealTime();
BENCHMARK_CAPTURE(fill_device, normal_f32, DType::f32, normal)->UseRealTime();
BENCHMARK_CAPTURE(fill_device, normal_f64, DType::f64, normal)->UseRealTime();
BENCHMARK_CAPTURE(fill_device, exponential_f32, DType::f32, exponential)->UseRealTime();
BENCHMARK_CAPTURE(fill_device, integers_i32, DType::i32, dice)->UseRealTime();
BENCHMARK_CAPTURE(fill_device, bernoulli_bool, DType::boolean, coins)->UseRealTime();
BENCHMARK_CAPTURE(fill_device, permutation_i32, DType::i32, permutation)->UseRealTime();
BENCHMARK_CAPTURE(fill_floats, uniform_f32, std::uniform_real_distribution<float>())->UseRealTime();
BENCHMARK_CAPTURE(fill_doubles, uniform_f64, std::uniform_real_distribution<double>())->UseRealTime();
BENCHMARK_CAPTURE(fill_floats, normal_f32, std::normal_distribution<float>())->UseRealTime();
BENCHMARK_CAPTURE(fill_doubles, normal_f64, std::normal_distribution<double>())->UseRealTime();
BENCHMARK_CAPTURE(fill_floats, exponential_f32, std::exponential_distribution<float>())->UseRealTime();
BENCHMARK_CAPTURE(fill_words, integers_i32, std::uniform_int_distribution<std::int32_t>(1, 6))->UseRealTime();
BENCHMARK_CAPTURE(fill_bytes, bernoulli_bool, std::bernoulli_distribution(0.1))->UseRealTime();

}  // namespace

int main(int argc, char** argv) {
  // One core for all of it: the simulator's threads, too, which begin later.
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
  if (sched_setaffinity(0, sizeof(one), &one) != 0) std::perror("sched_setaffinity");
  setenv("ANYPLACE_CPU_SIM_WORKERS", "1", 1);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
