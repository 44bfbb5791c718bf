// SPDX-License-Identifier: Apache-2.0
//
// What each call takes, through anyplace and, on a place of the CUDA backend, straight through the driver: the same
// work on the same device and the same primary context, in one process. `run_calls` runs it and makes the table.
//
//   call_cost [--place=cuda:0] --image=FILE [--benchmark_...]
//
// FILE has the kernel `empty`, in a form that the place takes. One iteration is a batch of calls (counter `calls`),
// timed by the clock and followed by a synchronise outside the time: a full queue would be measured otherwise.
#include <anyplace/anyplace.h>
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver.h"
#include "options.h"

namespace {

constexpr int batch = 256;
constexpr int small_batch = 32;  // of calls that take long or make something

/// One kind of call: `run` makes `calls` of them, `settle` waits for what they left on the device.
struct Case {
  std::string name;
  int calls;
  std::function<void(int)> run;
  std::function<void()> settle;
};

void time_batches(benchmark::State& state, const Case& one) {
  one.run(one.calls);
  one.settle();
  for ([[maybe_unused]] auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    one.run(one.calls);
    const auto end = std::chrono::steady_clock::now();
    one.settle();
    state.SetIterationTime(std::chrono::duration<double>(end - start).count());
  }
  state.counters["calls"] = one.calls;
}

void add(std::vector<Case> cases) {
  for (Case& one : cases) {
    const std::string name = one.name;
    benchmark::RegisterBenchmark(name.c_str(), [made = std::move(one)](benchmark::State& state) {
      time_batches(state, made);
    })->UseManualTime();
  }
}

template <class Body>
std::function<void(int)> repeat(Body body) {
  return [body](int calls) {
    for (int i = 0; i < calls; ++i) body();
  };
}

/// Lives until the process ends.
struct ThroughAnyplace {
  anyplace::Device device;
  anyplace::Stream stream{device};
  anyplace::Event event{device};
  anyplace::Buffer buffer{stream, 4096};
  anyplace::HostBuffer host{device, 4096};
  anyplace::Module module;
  anyplace::KernelView kernel;

  ThroughAnyplace(const std::string& place, const std::string& image)
      : device(place), module(anyplace::Module::from_file(device, image)), kernel(module.kernel("empty")) {
    event.record(stream);
    stream.synchronize();
  }

  std::vector<Case> cases() {
    const auto settle = [this] { stream.synchronize(); };
    const anyplace::BufferView four = buffer.sub(0, 4);
    const anyplace::ConstHostSpan source(host.data(), 4);
    return {
        {"stream_create_destroy/anyplace", small_batch, repeat([this] { const anyplace::Stream made(device); }),
         settle},
        {"event_create_destroy/anyplace", small_batch, repeat([this] { const anyplace::Event made(device); }), settle},
        {"record/anyplace", batch, repeat([this] { event.record(stream); }), settle},
        {"wait/anyplace", batch, repeat([this] { stream.wait_event(event); }), settle},
        {"event_query/anyplace", batch, repeat([this] { benchmark::DoNotOptimize(event.query()); }), settle},
        {"stream_query/anyplace", batch, repeat([this] { benchmark::DoNotOptimize(stream.query()); }), settle},
        {"launch/anyplace", batch, repeat([this] {
           stream.launch(kernel, {1, 1});
         }),
         settle},
        {"copy_4_bytes/anyplace", small_batch, repeat([this, four, source] { stream.copy(four, source); }), settle},
        {"synchronize/anyplace", small_batch, repeat([this] { stream.synchronize(); }), settle},
        {"launch_synchronize/anyplace", small_batch, repeat([this] {
           stream.launch(kernel, {1, 1});
           stream.synchronize();
         }),
         settle},
    };
  }
};

struct ThroughDriver {
  bench::Driver driver;
  bench::CuHandle stream = nullptr;
  bench::CuHandle event = nullptr;
  bench::CuHandle kernel = nullptr;
  bench::CuAddress memory = 0;
  void* host = nullptr;

  ThroughDriver(int index, const std::string& image) : driver(index) {
    check(driver.stream_create(&stream, bench::cu_stream_non_blocking, 0), "cuStreamCreateWithPriority");
    check(driver.event_create(&event, bench::cu_event_disable_timing), "cuEventCreate");
    check(driver.memory_allocate(&memory, 4096), "cuMemAlloc");
    check(driver.host_allocate(&host, 4096, 0), "cuMemHostAlloc");
    const std::vector<char> bytes = bench::read_image(image);
    bench::CuHandle module = nullptr;
    check(driver.module_load(&module, bytes.data()), "cuModuleLoadData");
    check(driver.module_kernel(&kernel, module, "empty"), "cuModuleGetFunction");
    check(driver.event_record(event, stream), "cuEventRecord");
    settle();
  }

  void check(bench::CuResult result, const char* call) const { driver.check(result, call); }
  void settle() const { check(driver.stream_synchronize(stream), "cuStreamSynchronize"); }
  void launch() const { check(driver.launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr), "cuLaunchKernel"); }
  void make_stream() const {
    bench::CuHandle made = nullptr;
    check(driver.stream_create(&made, bench::cu_stream_non_blocking, 0), "cuStreamCreateWithPriority");
    check(driver.stream_destroy(made), "cuStreamDestroy");
  }
  void make_event() const {
    bench::CuHandle made = nullptr;
    check(driver.event_create(&made, bench::cu_event_disable_timing), "cuEventCreate");
    check(driver.event_destroy(made), "cuEventDestroy");
  }

  std::vector<Case> cases() {
    const auto settle_it = [this] { settle(); };
    return {
        {"stream_create_destroy/driver", small_batch, repeat([this] { make_stream(); }), settle_it},
        {"event_create_destroy/driver", small_batch, repeat([this] { make_event(); }), settle_it},
        {"record/driver", batch, repeat([this] { check(driver.event_record(event, stream), "cuEventRecord"); }),
         settle_it},
        {"wait/driver", batch,
         repeat([this] { check(driver.stream_wait_event(stream, event, 0), "cuStreamWaitEvent"); }), settle_it},
        {"event_query/driver", batch, repeat([this] { benchmark::DoNotOptimize(driver.event_query(event)); }),
         settle_it},
        {"stream_query/driver", batch, repeat([this] { benchmark::DoNotOptimize(driver.stream_query(stream)); }),
         settle_it},
        {"launch/driver", batch, repeat([this] { launch(); }), settle_it},
        {"copy_4_bytes/driver", small_batch,
         repeat([this] { check(driver.copy_up(memory, host, 4, stream), "cuMemcpyHtoDAsync"); }), settle_it},
        {"synchronize/driver", small_batch, repeat([this] { settle(); }), settle_it},
        {"launch_synchronize/driver", small_batch, repeat([this] {
           launch();
           settle();
         }),
         settle_it},
    };
  }
};

}  // namespace

int main(int argc, char** argv) try {
  const std::string place = bench::take_option(argc, argv, "place", "cuda:0");
  const std::string image = bench::take_option(argc, argv, "image", "");
  if (image.empty()) {
    std::fprintf(stderr, "usage: %s [--place=cuda:0] --image=FILE [--benchmark_...]\n", argv[0]);
    return 2;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;

  ThroughAnyplace through(place, image);
  const anyplace::DeviceProperties properties = through.device.properties();
  benchmark::AddCustomContext("place", through.device.to_string());
  benchmark::AddCustomContext("device", properties.name);
  benchmark::AddCustomContext("driver_version", properties.driver_version);
  add(through.cases());

  std::unique_ptr<ThroughDriver> driver;
  const std::string found = through.device.to_string();
  if (found.rfind("cuda:", 0) == 0) {
    driver = std::make_unique<ThroughDriver>(std::atoi(found.c_str() + 5), image);
    add(driver->cases());
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "call_cost: %s\n", error.what());
  return 1;
}
