// SPDX-License-Identifier: Apache-2.0
//
// What an operation takes of the thread that submits it. ANYPLACE_LAYERS and the variables of the layer `trace` say
// what is between the library and the backend; `table` runs this with each, since layers are fixed for the life of a
// process.
//
//   trace_cost [--place=cpu_sim:0] [--benchmark_...]
//
// One iteration is a batch of operations (counter `calls`), timed by the processor time of the thread, so that what
// other threads and the layer's writer do isn't counted. It is followed by a synchronise and a flush outside the time.
#include <anyplace/anyplace.h>
#include <benchmark/benchmark.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include "options.h"

namespace {

constexpr int batch = 200;  // fits into the buffer that the layer has for a thread

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

bool is_traced() { return !anyplace::layers_of("cpu_sim").empty(); }

struct Work {
  anyplace::Device device;
  anyplace::Stream stream{device};
  anyplace::Event event{device};
  anyplace::Event timed{device, {.timing = true}};
  anyplace::Buffer buffer{stream, 4096};
  anyplace::BufferSpan<std::uint32_t> numbers = buffer.as<std::uint32_t>();
  anyplace::Kernel kernel{device, [](const anyplace::Block&, std::uint32_t) {}};

  explicit Work(const std::string& place) : device(place) {}
  void settle() {
    stream.synchronize();
    if (is_traced()) anyplace::layer_command("trace", "flush");
  }
};

template <class Operation>
void time_batches(benchmark::State& state, const std::string& place, Operation operation) {
  Work work(place);
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
void add(const std::string& name, const std::string& place, Operation operation) {
  for (const int threads : {1, 2}) {
    benchmark::RegisterBenchmark(name.c_str(),
                                 [place, operation](benchmark::State& state) { time_batches(state, place, operation); })
        ->UseManualTime()
        ->Threads(threads);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string place = bench::take_option(argc, argv, "place", "cpu_sim:0");
  add("record_event", place, [](Work& work) { work.stream.record_event(work.event); });
  add("record_event, timed", place, [](Work& work) { work.stream.record_event(work.timed); });
  add("fill", place, [](Work& work) { work.stream.fill(work.numbers, 1u); });
  add("launch", place, [](Work& work) { work.stream.launch(work.kernel, {1, 1}, 1u); });
  add("range_push and range_pop", place, [](Work&) {
    anyplace::annotate::range_push("range");
    anyplace::annotate::range_pop();
  });
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "trace_cost: %s\n", error.what());
  return 1;
}
