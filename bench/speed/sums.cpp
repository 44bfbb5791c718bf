// SPDX-License-Identifier: Apache-2.0
//
// Bandwidth of comm::reduce_add: eight arrays of 64 MiB, one of each device, into one; and STREAM's Add (c = a + b of
// double, J. D. McCalpin, cs.virginia.edu/stream) on a thread for each core, of arrays as large. Counted are the bytes
// that must move: eight reads and a write, and two reads and a write; not the lines that a write reads before.
// Besides, a broadcast to the seven other devices, star and chain: whether it pays to copy from copies.
#include <anyplace/comm.h>
#include <anyplace/guard.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "host_threads.h"
#include "suite.h"

namespace bench {
namespace {

constexpr std::size_t devices_added = 8;
constexpr std::size_t array_bytes = std::size_t{64} << 20;
constexpr std::int64_t elements = array_bytes / sizeof(float);

/// One array for each device, the element of which is 1 everywhere.
std::vector<anyplace::Array> make_arrays(const std::string& backend, benchmark::State& state) {
  std::vector<anyplace::Array> arrays;
  if (anyplace::device_count(backend) < static_cast<int>(devices_added)) {
    state.SkipWithError("there are less than eight devices (ANYPLACE_CPU_SIM_DEVICES=8)");
    return arrays;
  }
  for (std::size_t i = 0; i < devices_added; ++i) {
    const anyplace::Device device(backend + ":" + std::to_string(i));
    arrays.emplace_back(device, anyplace::DType::f32, anyplace::Extents{elements});
    arrays.back().stream().fill(arrays.back().buffer().as<float>(), 1.0f);
    device.synchronize();
  }
  return arrays;
}

template <class Work>
void time_each(benchmark::State& state, std::size_t bytes, Work work) {
  // A sum that is assigned lives beside the one before, so two are made in turn: both have been touched before.
  for (int i = 0; i < 3; ++i) work();
  BatchTimes times;
  for ([[maybe_unused]] auto _ : state) {
    const std::uint64_t start = ticks();
    work();
    times.add(state, ticks() - start);
  }
  times.report(state, 1);
  state.counters["bytes"] = static_cast<double>(bytes);
}

void reduce(benchmark::State& state, const std::string& backend) {
  const std::vector<anyplace::Array> arrays = make_arrays(backend, state);
  if (arrays.empty()) return;
  const anyplace::Device device = arrays.front().device();
  anyplace::Array sum;
  time_each(state, array_bytes * (devices_added + 1), [&] {
    sum = anyplace::comm::reduce_add(arrays, device);
    sum.stream().synchronize();
  });
  float last = 0;
  sum.stream().copy(anyplace::HostSpan(&last, sizeof(last)), sum.buffer().sub(array_bytes - sizeof(last)));
  sum.stream().synchronize();
  if (last != float{devices_added}) state.SkipWithError("the sum is wrong");
}

/// `chain`: each device gets it from the one before, in pieces, so that all of them copy at a time.
void broadcast(benchmark::State& state, const std::string& backend, bool chain) {
  const std::vector<anyplace::Array> arrays = make_arrays(backend, state);
  if (arrays.empty()) return;
  constexpr std::int64_t pieces = 16;
  const std::vector<anyplace::Array> out(arrays.begin() + 1, arrays.end());
  time_each(state, 2 * array_bytes * out.size(), [&] {
    for (std::int64_t piece = 0; chain && piece < pieces; ++piece) {
      const auto part = [&](const anyplace::Array& array) {
        return array.slice(0, piece * elements / pieces, (piece + 1) * elements / pieces);
      };
      for (std::size_t i = 1; i < arrays.size(); ++i) {
        anyplace::comm::broadcast(part(arrays[i - 1]), {.out = {part(arrays[i])}});
      }
    }
    if (!chain) anyplace::comm::broadcast(arrays.front(), {.out = out});
    for (const anyplace::Array& each : out) each.stream().synchronize();
  });
}

void stream_add(benchmark::State& state) {
  const std::size_t count = array_bytes / sizeof(double);
  const std::size_t threads = std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  std::vector<double> a(count, 1.0), b(count, 2.0), c(count, 0.0);
  HostThreads adders(threads, [&](std::size_t thread) {
    const std::size_t begin = count * thread / threads, end = count * (thread + 1) / threads;
    for (std::size_t i = begin; i < end; ++i) c[i] = a[i] + b[i];
  });
  time_each(state, array_bytes * 3, [&] { adders.run(); });
  if (c.back() != 3.0) state.SkipWithError("the sum is wrong");
}

}  // namespace

void add_sums(Suite&, const std::string& place) {
  const std::string backend = place.substr(0, place.find(':'));
  const auto add = [](const char* name, auto body) { benchmark::RegisterBenchmark(name, body)->UseManualTime(); };
  add("reduce_add/anyplace", [backend](benchmark::State& state) { reduce(state, backend); });
  add("reduce_add/stream_add", [](benchmark::State& state) { stream_add(state); });
  add("broadcast/anyplace/star", [backend](benchmark::State& state) { broadcast(state, backend, false); });
  add("broadcast/anyplace/chain", [backend](benchmark::State& state) { broadcast(state, backend, true); });
}

}  // namespace bench
