// SPDX-License-Identifier: Apache-2.0
//
// What the host pays for an operation on a stream that can't run it yet, and what an operation costs in all.
#include "suite.h"

namespace bench {
namespace {

/// Behind an operation that doesn't end: nothing is taken out while the host puts in.
void enqueue_blocked(benchmark::State& state, Peer& peer, std::size_t operations) {
  const auto streams = peer.make_streams(1);
  time_batches(state, *streams, operations, [&] {
    streams->block(0);
    const std::uint64_t start = ticks();
    streams->submit(0, operations);
    const std::uint64_t end = ticks();
    streams->unblock(0);
    streams->synchronize_all();
    return end - start;
  });
}

void submit_and_drain(benchmark::State& state, Peer& peer, std::size_t operations) {
  const auto streams = peer.make_streams(1);
  time_batches(state, *streams, operations, [&] {
    const std::uint64_t start = ticks();
    streams->submit(0, operations);
    streams->synchronize_all();
    return ticks() - start;
  });
}

}  // namespace

void add_enqueue(Suite& suite) {
  for (const auto& made : suite.peers) {
    Peer& peer = *made;
    suite.limit(benchmark::RegisterBenchmark(("enqueue/" + peer.name()).c_str(), [&peer](benchmark::State& state) {
                  enqueue_blocked(state, peer, 1000);
                })->UseManualTime());
    const std::size_t operations = suite.size(1'000'000);
    benchmark::RegisterBenchmark(("submit_drain/" + peer.name()).c_str(), [&peer, operations](benchmark::State& state) {
      submit_and_drain(state, peer, operations);
    })->UseManualTime();
  }
}

}  // namespace bench
