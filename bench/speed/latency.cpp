// SPDX-License-Identifier: Apache-2.0
//
// How long the host waits for one operation: while it keeps asking, and after it left the library alone for a
// millisecond, spinning or asleep. Each sample is taken by itself, with the clock's own cost in it; the counters are
// the median and the 99th percentile of a repetition.
#include <algorithm>
#include <chrono>
#include <thread>

#include "suite.h"

namespace bench {
namespace {

enum class Before { nothing, spins, sleeps };

double percentile(const std::vector<double>& sorted, double part) {
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(part * static_cast<double>(sorted.size())))];
}

void rest(Before before) {
  if (before == Before::spins) spin(1e6);
  if (before == Before::sleeps) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void submit_and_synchronize(benchmark::State& state, Peer& peer, Before before) {
  const auto streams = peer.make_streams(1);
  for (int i = 0; i < 100; ++i) streams->submit_one_and_synchronize(0);
  const std::uint64_t ran = streams->ran();
  std::vector<double> samples;
  samples.reserve(static_cast<std::size_t>(state.max_iterations));
  for ([[maybe_unused]] auto _ : state) {
    rest(before);
    const std::uint64_t start = ticks();
    streams->submit_one_and_synchronize(0);
    const double nanoseconds = static_cast<double>(ticks() - start) * nanoseconds_per_tick();
    samples.push_back(nanoseconds);
    state.SetIterationTime(nanoseconds * 1e-9);
  }
  if (streams->ran() - ran != samples.size()) return state.SkipWithError("not every operation ran once");
  std::sort(samples.begin(), samples.end());
  state.counters["operations"] = 1;
  state.counters["p50"] = percentile(samples, 0.50);
  state.counters["p99"] = percentile(samples, 0.99);
}

}  // namespace

void add_latency(Suite& suite) {
  for (const auto& made : suite.peers) {
    Peer& peer = *made;
    const auto add = [&peer](const std::string& metric, Before before) {
      return benchmark::RegisterBenchmark(
                 (metric + "/" + peer.name()).c_str(),
                 [&peer, before](benchmark::State& state) { submit_and_synchronize(state, peer, before); })
          ->UseManualTime();
    };
    add("sync", Before::nothing);
    // The rests aren't in the time that decides how many there are.
    const auto rests = static_cast<benchmark::IterationCount>(suite.quick ? 20 : 300);
    add("sync_after_idle", Before::spins)->Iterations(rests);
    add("sync_after_sleep", Before::sleeps)->Iterations(rests);
  }
}

}  // namespace bench
