// SPDX-License-Identifier: Apache-2.0
//
// What it takes to come from one stream to another, and what an event costs the host.
#include "suite.h"

namespace bench {
namespace {

/// The host submits while the operations run.
void live_hops(benchmark::State& state, Peer& peer, std::size_t hops) {
  const auto streams = peer.make_streams(2);
  time_batches(state, *streams, hops, [&] {
    const std::uint64_t start = ticks();
    streams->submit_hops(hops);
    streams->synchronize_all();
    return ticks() - start;
  });
}

/// All of it is there before the first one may run; the time is from then on.
void hops_ahead(benchmark::State& state, Peer& peer, std::size_t hops) {
  const auto streams = peer.make_streams(2);
  time_batches(state, *streams, hops, [&] {
    streams->block(0);
    streams->submit_hops_ahead(hops);
    const std::uint64_t start = ticks();
    streams->unblock(0);
    streams->synchronize_all();
    return ticks() - start;
  });
  streams->forget();
}

/// On a stream that is idle when it begins, or that is blocked and so only takes them in.
void record(benchmark::State& state, Peer& peer, std::size_t records, bool blocked) {
  const auto streams = peer.make_streams(1);
  const auto batch = [&] {
    if (blocked) streams->block(0);
    const std::uint64_t start = ticks();
    streams->record(0, records);
    const std::uint64_t end = ticks();
    if (blocked) streams->unblock(0);
    streams->synchronize_all();
    return end - start;
  };
  batch();
  std::uint64_t complete = 0;
  BatchTimes times;
  for ([[maybe_unused]] auto _ : state) {
    times.add(state, batch());
    complete += streams->query(1);
  }
  if (complete != static_cast<std::uint64_t>(state.iterations()))
    state.SkipWithError("an event of an idle stream isn't complete");
  times.report(state, records);
}

void query(benchmark::State& state, Peer& peer, std::size_t questions) {
  const auto streams = peer.make_streams(1);
  streams->submit(0, 1);
  streams->record(0, 1);
  streams->synchronize_all();
  std::uint64_t complete = 0;
  BatchTimes times;
  for ([[maybe_unused]] auto _ : state) {
    const std::uint64_t start = ticks();
    complete += streams->query(questions);
    times.add(state, ticks() - start);
  }
  if (complete != static_cast<std::uint64_t>(state.iterations()) * questions)
    state.SkipWithError("a complete event isn't complete");
  times.report(state, questions);
}

}  // namespace

void add_events(Suite& suite) {
  for (const auto& made : suite.peers) {
    Peer& peer = *made;
    const std::size_t hops = suite.size(20'000);
    if (suite.can(peer, Feature::live_hops, "hop_live")) {
      benchmark::RegisterBenchmark(("hop_live/" + peer.name()).c_str(), [&peer, hops](benchmark::State& state) {
        live_hops(state, peer, hops);
      })->UseManualTime();
    }
    if (suite.can(peer, Feature::ahead_hops, "hop_ahead")) {
      benchmark::RegisterBenchmark(("hop_ahead/" + peer.name()).c_str(), [&peer, hops](benchmark::State& state) {
        hops_ahead(state, peer, hops);
      })->UseManualTime();
    }
    if (suite.can(peer, Feature::events, "record")) {
      for (const bool blocked : {false, true}) {
        const std::string metric = blocked ? "record_blocked/" : "record/";
        suite.limit(
            benchmark::RegisterBenchmark((metric + peer.name()).c_str(), [&peer, blocked](benchmark::State& state) {
              record(state, peer, 1000, blocked);
            })->UseManualTime());
      }
      benchmark::RegisterBenchmark(("query/" + peer.name()).c_str(), [&peer](benchmark::State& state) {
        query(state, peer, 1000);
      })->UseManualTime();
    }
  }
}

}  // namespace bench
