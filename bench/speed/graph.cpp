// SPDX-License-Identifier: Apache-2.0
//
// A random graph of operations in 16 streams, of which one in four waits for another stream: submitted and drained; and
// made once, and run again and again. The same with a chain, beside submitting its operations one by one.
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

constexpr std::size_t chain_length = 100;
constexpr std::uint32_t launch_length = 16 * 100;

std::vector<Step> chain_plan(std::uint32_t steps) {
  std::vector<Step> plan(steps);
  for (std::uint32_t i = 1; i < steps; ++i) plan[i].previous = i - 1;
  return plan;
}

/// The same for a graph that is made once.
bool keeps_order_made(Peer& peer, const std::vector<Step>& plan) {
  const auto streams = peer.make_streams(1);
  for (int turn = 0; turn < 5; ++turn) {
    OrderCheck check(plan);
    const std::uint64_t before = streams->ran();
    streams->make_graph(plan, Body::checked, &check);
    streams->run_graph();
    streams->forget();
    if (check.violations() != 0 || streams->ran() - before != plan.size()) return false;
  }
  return true;
}

void run_made(benchmark::State& state, Peer& peer, Body body, const std::vector<Step>& plan) {
  if (peer.checks_order() && !keeps_order_made(peer, plan)) {
    return state.SkipWithError("the order of the graph isn't kept");
  }
  const auto streams = peer.make_streams(1);
  streams->make_graph(plan, body, nullptr);
  time_batches(state, *streams, plan.size(), [&] {
    const std::uint64_t start = ticks();
    streams->run_graph();
    return ticks() - start;
  });
  streams->forget();
}

void run_one_by_one(benchmark::State& state, Peer& peer) {
  const auto streams = peer.make_streams(1);
  time_batches(state, *streams, chain_length, [&] {
    const std::uint64_t start = ticks();
    streams->submit(0, chain_length);
    streams->synchronize_all();
    return ticks() - start;
  });
}

void add_made(Suite& suite) {
  const auto chain = std::make_shared<const std::vector<Step>>(chain_plan(chain_length));
  const auto dag = std::make_shared<const std::vector<Step>>(random_plan(graph_streams, launch_length));
  struct Metric {
    const char* name;
    Body body;
    std::shared_ptr<const std::vector<Step>> plan;
  };
  for (const Metric& metric : {Metric{"chain_launch", Body::empty, chain}, Metric{"dag_launch", Body::empty, dag},
                               Metric{"dag_launch_1us", Body::microsecond, dag}}) {
    for (const auto& made : suite.peers) {
      Peer& peer = *made;
      if (!suite.can(peer, Feature::launches, metric.name)) continue;
      suite.limit(
          benchmark::RegisterBenchmark((metric.name + ("/" + peer.name())).c_str(), [&peer, body = metric.body,
                                                                                     plan = metric.plan](
                                                                                        benchmark::State& state) {
            run_made(state, peer, body, *plan);
          })->UseManualTime());
    }
  }
  for (const auto& made : suite.peers) {
    Peer& peer = *made;
    suite.limit(benchmark::RegisterBenchmark(("chain_submit/" + peer.name()).c_str(), [&peer](benchmark::State& state) {
                  run_one_by_one(state, peer);
                })->UseManualTime());
  }
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
  add_made(suite);
}

}  // namespace bench
