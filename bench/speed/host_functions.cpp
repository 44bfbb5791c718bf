// SPDX-License-Identifier: Apache-2.0
//
// Functions of the host in a stream's order: many of them queued before the first may run, and one that is waited for.
#include "suite.h"

namespace bench {
namespace {

/// The time is from when the first may run.
void drain(benchmark::State& state, Peer& peer, std::size_t functions) {
  const auto streams = peer.make_user_streams(1);
  time_batches(state, *streams, functions, [&] {
    streams->block(0);
    streams->submit_host_functions(0, functions);
    const std::uint64_t start = ticks();
    streams->unblock(0);
    streams->synchronize_all();
    return ticks() - start;
  });
}

void one(benchmark::State& state, Peer& peer) {
  const auto streams = peer.make_user_streams(1);
  time_batches(state, *streams, 1, [&] {
    const std::uint64_t start = ticks();
    streams->submit_host_function_and_synchronize(0);
    return ticks() - start;
  });
}

}  // namespace

void add_host_functions(Suite& suite) {
  for (const auto& made : suite.peers) {
    Peer& peer = *made;
    if (!suite.can(peer, Feature::host_functions, "host_functions")) continue;
    const std::size_t functions = suite.size(10'000);
    benchmark::RegisterBenchmark(("host_functions/" + peer.name()).c_str(), [&peer,
                                                                             functions](benchmark::State& state) {
      drain(state, peer, functions);
    })->UseManualTime();
    suite.limit(
        benchmark::RegisterBenchmark(("host_function/" + peer.name()).c_str(), [&peer](benchmark::State& state) {
          one(state, peer);
        })->UseManualTime());
  }
}

}  // namespace bench
