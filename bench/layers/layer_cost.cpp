// SPDX-License-Identifier: Apache-2.0
//
// What an operation takes of the thread that submits it. ANYPLACE_LAYERS and the layers' own variables say what is
// between the library and the backend; `table` runs this with each, since layers are fixed for the life of a process.
//
//   layer_cost [--place=cpu_sim:0] [--live=10] [--benchmark_...]
//
// One iteration is a batch of operations (counter `calls`), timed by the processor time of the thread, so that what
// other threads and the layer's writer do isn't counted. It is followed by a synchronise and a flush outside the time.
// The operations go round the live buffers, of which each thread has so many.
#include <anyplace/anyplace.h>
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "options.h"

namespace {

constexpr int batch = 200;  // fits into the buffer that the layer trace has for a thread
constexpr std::size_t buffer_bytes = 4096;

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

bool is_traced() {
  const std::vector<std::string> layers = anyplace::layers_of("cpu_sim");
  return std::find(layers.begin(), layers.end(), "trace") != layers.end();
}

struct Options {
  std::string place;
  std::size_t live;
};

struct Work {
  anyplace::Device device;
  anyplace::Stream stream{device};
  anyplace::Stream other{device};
  anyplace::Event event{device};
  anyplace::Event timed{device, {.timing = true}};
  anyplace::Buffer source{stream, buffer_bytes};
  std::vector<anyplace::Buffer> buffers;
  std::vector<anyplace::BufferSpan<std::uint32_t>> numbers;
  anyplace::Kernel kernel{device, [](const anyplace::Block&, std::uint32_t) {}};
  anyplace::Kernel kernel_of_two{device, [](const anyplace::Block&, const std::uint32_t*, std::uint32_t*) {}};
  std::size_t at = 0;

  explicit Work(const Options& options) : device(options.place) {
    stream.fill(source.as<std::uint32_t>(), 1u);
    for (std::size_t i = 1; i < options.live; ++i) {
      numbers.push_back(buffers.emplace_back(stream, buffer_bytes).as<std::uint32_t>());
    }
  }
  const anyplace::BufferSpan<std::uint32_t>& next() {
    at = at + 1 == numbers.size() ? 0 : at + 1;
    return numbers[at];
  }
  void settle() {
    stream.synchronize();
    other.synchronize();
    if (is_traced()) anyplace::layer_command("trace", "flush");
  }
};

template <class Operation>
void time_batches(benchmark::State& state, const Options& options, Operation operation) {
  Work work(options);
  const auto run = [&] {
    for (int i = 0; i < batch; ++i) operation(work);
  };
  for (int i = 0; i < 20; ++i) {  // the layer's events are made
    run();
    work.settle();
  }
  for ([[maybe_unused]] auto _ : state) {
    const double begin = thread_seconds();
    run();
    state.SetIterationTime(thread_seconds() - begin);
    work.settle();
  }
  state.counters["calls"] = benchmark::Counter(batch, benchmark::Counter::kAvgThreads);
}

template <class Operation>
void add(const std::string& name, const Options& options, Operation operation) {
  for (const int threads : {1, 2}) {
    benchmark::RegisterBenchmark(
        name.c_str(), [options, operation](benchmark::State& state) { time_batches(state, options, operation); })
        ->UseManualTime()
        ->Threads(threads);
  }
}

void add_all(const Options& options) {
  add("record_event", options, [](Work& work) { work.stream.record_event(work.event); });
  add("record_event, timed", options, [](Work& work) { work.stream.record_event(work.timed); });
  add("wait_event", options, [](Work& work) { work.other.wait_event(work.event); });
  add("fill", options, [](Work& work) { work.stream.fill(work.next(), 1u); });
  add("fill from two lines", options, [](Work& work) {
    if (work.at % 2 == 0) {
      work.stream.fill(work.next(), 1u);
      benchmark::ClobberMemory();  // keeps the compiler from making one call of the two
    } else {
      work.stream.fill(work.next(), 1u);
    }
  });
  add("copy", options, [](Work& work) { work.stream.copy(work.next(), work.source); });
  add("launch", options, [](Work& work) { work.stream.launch(work.kernel, {1, 1}, 1u); });
  add("launch, two buffers", options, [](Work& work) {
    work.stream.launch(work.kernel_of_two, {1, 1}, in(work.source), out(work.next()));
  });
  add("make and free a buffer", options, [](Work& work) { anyplace::Buffer(work.stream, buffer_bytes); });
  add("range_push and range_pop", options, [](Work&) {
    anyplace::annotate::range_push("range");
    anyplace::annotate::range_pop();
  });
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string place = bench::take_option(argc, argv, "place", "cpu_sim:0");
  const std::string live = bench::take_option(argc, argv, "live", "10");
  add_all({place, std::max(2ul, std::stoul(live))});
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "layer_cost: %s\n", error.what());
  return 1;
}
