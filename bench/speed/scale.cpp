// SPDX-License-Identifier: Apache-2.0
//
// What an operation costs, submitted and drained, with more and more streams, and with more and more threads of the
// host, each with a stream of its own or all on one.
#include <algorithm>

#include "host_threads.h"
#include "suite.h"

namespace bench {
namespace {

std::vector<std::size_t> stream_counts(const Suite& suite) {
  return suite.quick ? std::vector<std::size_t>{16, 10'000} : std::vector<std::size_t>{1, 16, 100, 1000, 10'000};
}
std::vector<std::size_t> thread_counts(const Suite& suite) {
  return suite.quick ? std::vector<std::size_t>{1, 64} : std::vector<std::size_t>{1, 2, 4, 8, 16, 32, 64};
}

void over_streams(benchmark::State& state, Peer& peer, std::size_t count, std::size_t operations) {
  const auto streams = peer.make_streams(count);
  time_batches(state, *streams, operations, [&] {
    const std::uint64_t start = ticks();
    streams->submit_in_turn(operations);
    streams->synchronize_all();
    return ticks() - start;
  });
}

void over_threads(benchmark::State& state, Peer& peer, std::size_t count, bool shared, std::size_t operations) {
  const auto streams = peer.make_streams(shared ? 1 : count);
  const std::size_t each = std::max<std::size_t>(operations / count, 1);
  time_threads(state, *streams, count, each, [&](std::size_t thread) { streams->submit(shared ? 0 : thread, each); });
}

}  // namespace

void add_scale(Suite& suite) {
  for (const auto& made : suite.peers) {
    Peer& peer = *made;
    const std::size_t operations = suite.size(256 * 1024) / peer.slowness();
    for (const std::size_t count : stream_counts(suite)) {
      if (count > peer.most_streams()) {
        suite.left_out.push_back("streams/" + peer.name() + "/" + std::to_string(count) + ": each is a thread");
        continue;
      }
      if (suite.quick && peer.slowness() > 1 && count > 1000) {
        suite.left_out.push_back("streams/" + peer.name() + "/" + std::to_string(count) +
                                 ": takes too long for a quick run");
        continue;
      }
      const std::size_t enough = std::max(operations, count);
      benchmark::RegisterBenchmark(
          ("streams/" + peer.name() + "/" + std::to_string(count)).c_str(),
          [&peer, count, enough](benchmark::State& state) { over_streams(state, peer, count, enough); })
          ->UseManualTime();
    }
    for (const bool shared : {false, true}) {
      for (const std::size_t count : thread_counts(suite)) {
        const std::string metric = shared ? "threads_one_stream/" : "threads/";
        benchmark::RegisterBenchmark((metric + peer.name() + "/" + std::to_string(count)).c_str(),
                                     [&peer, count, shared, operations](benchmark::State& state) {
                                       over_threads(state, peer, count, shared, operations);
                                     })
            ->UseManualTime();
      }
    }
  }
}

}  // namespace bench
