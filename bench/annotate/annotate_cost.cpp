// SPDX-License-Identifier: Apache-2.0
//
// What an annotation costs: while nobody listens, beside NVTX's header in the same state, and with a listener that does
// nothing. NVTX_INJECTION64_PATH and the like have no say here.
#include <anyplace/annotate.h>
#include <benchmark/benchmark.h>

#include <cstdlib>

#ifdef WITH_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace {

namespace annotate = anyplace::annotate;

struct Nothing : annotate::Listener {};

void range(benchmark::State& state) {
  for (auto step : state) {
    const annotate::Range one("range");
    benchmark::ClobberMemory();
  }
}
void push_pop(benchmark::State& state) {
  for (auto step : state) {
    annotate::range_push("range");
    annotate::range_pop();
  }
}
void push_pop_attributes(benchmark::State& state) {
  const annotate::Category category("category");
  for (auto step : state) {
    annotate::range_push("range", {.category = category, .color = 0xff76b900, .payload = 42});
    annotate::range_pop();
  }
}
void mark(benchmark::State& state) {
  for (auto step : state) annotate::mark("mark");
}
void start_end(benchmark::State& state) {
  for (auto step : state) annotate::range_end(annotate::range_start("range"));
}

template <void (*body)(benchmark::State&)>
void heard(benchmark::State& state) {
  Nothing nothing;
  const annotate::ListenerGuard guard(nothing);
  body(state);
}

BENCHMARK(range)->Name("Range, nobody listens");
BENCHMARK(push_pop)->Name("range_push + range_pop, nobody listens");
BENCHMARK(push_pop_attributes)->Name("the same with attributes, nobody listens");
BENCHMARK(mark)->Name("mark, nobody listens");
BENCHMARK(start_end)->Name("range_start + range_end, nobody listens");
BENCHMARK(heard<range>)->Name("Range, a listener");
BENCHMARK(heard<push_pop>)->Name("range_push + range_pop, a listener");
BENCHMARK(heard<push_pop_attributes>)->Name("the same with attributes, a listener");
BENCHMARK(heard<mark>)->Name("mark, a listener");
BENCHMARK(heard<start_end>)->Name("range_start + range_end, a listener");

#ifdef WITH_NVTX
void nvtx_push_pop(benchmark::State& state) {
  for (auto step : state) {
    nvtxRangePushA("range");
    nvtxRangePop();
  }
}
void nvtx_mark(benchmark::State& state) {
  for (auto step : state) nvtxMarkA("mark");
}
void nvtx_start_end(benchmark::State& state) {
  for (auto step : state) nvtxRangeEnd(nvtxRangeStartA("range"));
}
BENCHMARK(nvtx_push_pop)->Name("NVTX's header: push + pop, nobody listens");
BENCHMARK(nvtx_mark)->Name("NVTX's header: mark, nobody listens");
BENCHMARK(nvtx_start_end)->Name("NVTX's header: start + end, nobody listens");
#endif

}  // namespace

int main(int argc, char** argv) {
  unsetenv("NVTX_INJECTION64_PATH");
  setenv("ANYPLACE_ANNOTATE", "off", 1);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
