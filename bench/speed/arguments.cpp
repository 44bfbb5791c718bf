// SPDX-License-Identifier: Apache-2.0
//
// Operations as people launch them: with three arguments (memory, a float, an int), and with eight, of a kernel that
// comes from an image. In one stream, from eight threads of the host, and in a graph.
#include "host_threads.h"
#include "suite.h"

namespace bench {
namespace {

void enqueue_blocked(benchmark::State& state, Peer& peer, Arguments arguments, std::size_t operations) {
  const auto streams = peer.make_user_streams(1);
  streams->submit_with(0, 1, arguments);  // makes what they need
  streams->synchronize_all();
  time_batches(state, *streams, operations, [&] {
    streams->block(0);
    const std::uint64_t start = ticks();
    streams->submit_with(0, operations, arguments);
    const std::uint64_t end = ticks();
    streams->unblock(0);
    streams->synchronize_all();
    return end - start;
  });
}

void submit_and_drain(benchmark::State& state, Peer& peer, std::size_t operations) {
  const auto streams = peer.make_user_streams(1);
  time_batches(state, *streams, operations, [&] {
    const std::uint64_t start = ticks();
    streams->submit_with(0, operations, Arguments::three);
    streams->synchronize_all();
    return ticks() - start;
  });
}

void submit_and_synchronize(benchmark::State& state, Peer& peer) {
  const auto streams = peer.make_user_streams(1);
  constexpr std::size_t together = 100;
  time_batches(state, *streams, together, [&] {
    const std::uint64_t start = ticks();
    for (std::size_t i = 0; i < together; ++i) streams->submit_one_with_and_synchronize(0);
    return ticks() - start;
  });
}

void from_threads(benchmark::State& state, Peer& peer, std::size_t count, std::size_t operations) {
  const auto streams = peer.make_user_streams(count);
  streams->submit_with(0, 1, Arguments::three);  // what operations need is made by one thread
  streams->synchronize_all();
  const std::size_t each = std::max<std::size_t>(operations / count, 1);
  time_threads(state, *streams, count, each,
               [&](std::size_t thread) { streams->submit_with(thread, each, Arguments::three); });
}

}  // namespace

void add_arguments(Suite& suite) {
  for (const auto& made : suite.peers) {
    Peer& peer = *made;
    const auto add = [&](const std::string& metric, auto run) {
      return benchmark::RegisterBenchmark((metric + "/" + peer.name()).c_str(), run)->UseManualTime();
    };
    suite.limit(
        add("enqueue_3", [&peer](benchmark::State& state) { enqueue_blocked(state, peer, Arguments::three, 1000); }));
    if (suite.can(peer, Feature::image, "enqueue_8")) {
      suite.limit(
          add("enqueue_8", [&peer](benchmark::State& state) { enqueue_blocked(state, peer, Arguments::eight, 1000); }));
    }
    const std::size_t operations = suite.size(1'000'000) / peer.slowness();
    add("submit_drain_3", [&peer, operations](benchmark::State& state) { submit_and_drain(state, peer, operations); });
    suite.limit(add("sync_3", [&peer](benchmark::State& state) { submit_and_synchronize(state, peer); }));
    for (const std::size_t count : {std::size_t{1}, std::size_t{8}}) {
      const std::size_t shared = suite.size(256 * 1024) / peer.slowness();
      benchmark::RegisterBenchmark(
          ("threads_3/" + peer.name() + "/" + std::to_string(count)).c_str(),
          [&peer, count, shared](benchmark::State& state) { from_threads(state, peer, count, shared); })
          ->UseManualTime();
    }
  }
}

}  // namespace bench
