// SPDX-License-Identifier: Apache-2.0
//
// What the simulator's streams cost, beside what does the same on threads: queues, strands, flow graphs, OpenCL on the
// CPU. All in one process, so that repetitions of one lie between those of the others. bench/run runs it.
//
//   speed [--place=cpu_sim:0] [--quick=0] [--benchmark_...]
#include <anyplace/anyplace.h>

#include <cstdio>
#include <exception>

#include "../options.h"
#include "suite.h"

int main(int argc, char** argv) try {
  const std::string place = bench::take_option(argc, argv, "place", "cpu_sim:0");
  const bool quick = bench::take_option(argc, argv, "quick", "0") != "0";
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;

  std::vector<bench::LeftOut> left_out;
  bench::Suite suite;
  suite.quick = quick;
  suite.peers = bench::make_peers(place, left_out);
  suite.loops.push_back(bench::make_matrix(place));
  suite.loops.push_back(bench::make_sums(place));
  suite.loops.push_back(bench::make_saxpy(place));
  suite.loops.push_back(bench::make_blur(place));
  for (const bench::LeftOut& one : left_out) suite.left_out.push_back("*/" + one.name + ": " + one.why);

  bench::add_enqueue(suite);
  bench::add_latency(suite);
  bench::add_events(suite);
  bench::add_graph(suite);
  bench::add_copy(suite);
  bench::add_sums(suite, place);
  bench::add_scale(suite);
  bench::add_arguments(suite);
  bench::add_grids(suite);
  bench::add_host_functions(suite);
  bench::add_small(suite);
  bench::add_captures(suite);
  bench::add_limits(suite);

  benchmark::AddCustomContext("place", place);
  benchmark::AddCustomContext("device", anyplace::Device(place).properties().name);
  benchmark::AddCustomContext("clock_cost_ns", std::to_string(bench::clock_cost()));
  std::string all;
  for (const std::string& one : suite.left_out) all += (all.empty() ? "" : "\n") + one;
  benchmark::AddCustomContext("left_out", all);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "speed: %s\n", error.what());
  return 1;
}
