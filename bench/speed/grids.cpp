// SPDX-License-Identifier: Apache-2.0
//
// One launch of many blocks, waited for: empty ones, ones of a microsecond, and kernels as people write them, beside
// the same work in a plain loop.
#include <cstdint>

#include "suite.h"

namespace bench {
namespace {

void run_grid(benchmark::State& state, Peer& peer, std::uint32_t blocks, Body body) {
  const auto streams = peer.make_streams(1);
  time_batches(state, *streams, blocks, [&] {
    const std::uint64_t start = ticks();
    streams->run_grid(blocks, body);
    return ticks() - start;
  });
}

void run_loop(benchmark::State& state, Loop& loop, bool ours) {
  BatchTimes times;
  for ([[maybe_unused]] auto _ : state) {
    const std::uint64_t start = ticks();
    if (ours) {
      loop.run_kernel();
    } else {
      loop.run_plainly();
    }
    times.add(state, ticks() - start);
  }
  if (!loop.agrees()) state.SkipWithError("the kernel has another result than the loop");
  times.report(state, 1);
}

}  // namespace

void add_grids(Suite& suite) {
  for (const auto& made : suite.peers) {
    Peer& peer = *made;
    if (!suite.can(peer, Feature::grids, "grid")) continue;
    for (const std::uint32_t blocks : {16U, 256U, 4096U}) {
      suite.limit(benchmark::RegisterBenchmark(
                      ("grid/" + peer.name() + "/" + std::to_string(blocks)).c_str(),
                      [&peer, blocks](benchmark::State& state) { run_grid(state, peer, blocks, Body::empty); })
                      ->UseManualTime());
    }
    suite.limit(benchmark::RegisterBenchmark(("grid_1us/" + peer.name()).c_str(), [&peer](benchmark::State& state) {
                  run_grid(state, peer, 4096, Body::microsecond);
                })->UseManualTime());
  }
  for (const auto& made : suite.loops) {
    Loop* const loop = made.get();
    for (const bool ours : {true, false}) {
      const std::string name = std::string(loop->name()) + (ours ? "/anyplace" : "/loop");
      benchmark::RegisterBenchmark(name.c_str(), [loop, ours](benchmark::State& state) {
        run_loop(state, *loop, ours);
      })->UseManualTime();
    }
  }
}

}  // namespace bench
