// SPDX-License-Identifier: Apache-2.0
//
// What is small and comes often: fills and copies of 64 bytes, buffers that are made for one copy and freed behind it,
// events that are made for one wait.
#include "suite.h"

namespace bench {
namespace {

constexpr std::size_t together = 1000;

enum class What { fills, copies };

void submit(Streams& streams, What what) {
  if (what == What::fills) {
    streams.submit_fills(together);
  } else {
    streams.submit_copies(together);
  }
}

/// Times what the host pays while nothing runs, or what it takes to run what is queued.
void blocked(benchmark::State& state, Peer& peer, What what, bool drained) {
  const auto streams = peer.make_user_streams(1);
  submit(*streams, what);  // makes what they need
  streams->synchronize_all();
  BatchTimes times;
  for ([[maybe_unused]] auto _ : state) {
    streams->block(0);
    const std::uint64_t start = ticks();
    submit(*streams, what);
    const std::uint64_t submitted = ticks();
    streams->unblock(0);
    streams->synchronize_all();
    times.add(state, drained ? ticks() - submitted : submitted - start);
  }
  times.report(state, together);
}

/// Of objects that come and go: `use` is Streams::use_buffers or use_events.
void objects(benchmark::State& state, Peer& peer, void (Streams::*use)(std::size_t)) {
  const auto streams = peer.make_user_streams(2);
  const auto batch = [&] {
    const std::uint64_t start = ticks();
    (*streams.*use)(together);
    streams->synchronize_all();
    return ticks() - start;
  };
  batch();
  BatchTimes times;
  for ([[maybe_unused]] auto _ : state) times.add(state, batch());
  times.report(state, together);
}

}  // namespace

void add_small(Suite& suite) {
  for (const auto& made : suite.peers) {
    Peer& peer = *made;
    const auto add = [&](const std::string& metric, auto run) {
      suite.limit(benchmark::RegisterBenchmark((metric + "/" + peer.name()).c_str(), run)->UseManualTime());
    };
    if (suite.can(peer, Feature::small_copies, "fill")) {
      add("fill_enqueue", [&peer](benchmark::State& state) { blocked(state, peer, What::fills, false); });
      add("fill_drain", [&peer](benchmark::State& state) { blocked(state, peer, What::fills, true); });
      add("copy_enqueue", [&peer](benchmark::State& state) { blocked(state, peer, What::copies, false); });
      add("copy_drain", [&peer](benchmark::State& state) { blocked(state, peer, What::copies, true); });
    }
    if (suite.can(peer, Feature::buffers, "buffers")) {
      add("buffers", [&peer](benchmark::State& state) { objects(state, peer, &Streams::use_buffers); });
    }
    if (suite.can(peer, Feature::event_objects, "event_objects")) {
      add("event_objects", [&peer](benchmark::State& state) { objects(state, peer, &Streams::use_events); });
    }
  }
}

}  // namespace bench
