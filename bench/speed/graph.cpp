// SPDX-License-Identifier: Apache-2.0
//
// A random graph of operations in 16 streams, of which one in four waits for another stream: submitted and drained.
#include "suite.h"

namespace bench {
namespace {

constexpr std::uint32_t graph_streams = 16;

/// Whether the order is kept: found out by operations that look, outside the time.
bool keeps_order(Peer& peer) {
  const std::vector<Step> plan = random_plan(graph_streams, 5000);
  const auto streams = peer.make_streams(graph_streams);
  for (int turn = 0; turn < 5; ++turn) {
    OrderCheck check(plan);
    const std::uint64_t before = streams->ran();
    streams->submit_plan(plan, Body::checked, &check);
    streams->synchronize_all();
    streams->forget();
    if (check.violations() != 0 || streams->ran() - before != plan.size()) return false;
  }
  return true;
}

void run_graph(benchmark::State& state, Peer& peer, Body body, const std::vector<Step>& plan) {
  if (peer.checks_order() && !keeps_order(peer)) return state.SkipWithError("the order of the graph isn't kept");
  const auto streams =
      body == Body::three_arguments ? peer.make_user_streams(graph_streams) : peer.make_streams(graph_streams);
  time_batches(state, *streams, plan.size(), [&] {
    streams->forget();
    const std::uint64_t start = ticks();
    streams->submit_plan(plan, body, nullptr);
    streams->synchronize_all();
    return ticks() - start;
  });
  streams->forget();
}

}  // namespace

void add_graph(Suite& suite) {
  const std::pair<Body, const char*> metrics[] = {
      {Body::empty, "graph_empty"}, {Body::microsecond, "graph_1us"}, {Body::three_arguments, "graph_3"}};
  for (const auto& [of, name] : metrics) {
    const Body body = of;
    const std::string metric = name;
    const auto plan = std::make_shared<const std::vector<Step>>(random_plan(
        graph_streams, static_cast<std::uint32_t>(suite.size(body == Body::microsecond ? 20'000 : 100'000))));
    for (const auto& made : suite.peers) {
      Peer& peer = *made;
      if (!suite.can(peer, Feature::graphs, metric)) continue;
      benchmark::RegisterBenchmark((metric + "/" + peer.name()).c_str(), [&peer, body, plan](benchmark::State& state) {
        run_graph(state, peer, body, *plan);
      })->UseManualTime();
    }
  }
}

}  // namespace bench
