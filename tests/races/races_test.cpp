// SPDX-License-Identifier: Apache-2.0
//
// Each topic's programs on cpu_sim, or on the place that the environment names.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>

#include "judge.h"

namespace races_test {

using namespace races;

namespace {

std::string place_of_test() {
  const char* const place = std::getenv("ANYPLACE_TEST_RACES_PLACE");
  return place != nullptr ? place : "cpu_sim:0";
}

void judge_all(const char* name, std::span<const Program> programs) {
  Summary summary;
  for (const Program& program : programs) judge_both({name, programs}, program, place_of_test(), summary);
  INFO(summary.text);
  CHECK(summary.missed == 0);
  CHECK(summary.invented == 0);
  CHECK(summary.other == 0);
  CHECK(summary.pairs + summary.skipped == programs.size());
  CHECK(summary.pairs != 0);
}

}  // namespace

TEST_CASE("Of two streams and an event, what isn't waited for is reported") { judge_all("events", event_programs()); }

TEST_CASE("Order is passed on from stream to stream, and its gaps are reported") {
  judge_all("chains", chain_programs());
}

TEST_CASE("Null streams, blocking streams and synchronisations order what they say, and nothing else") {
  judge_all("streams", stream_programs());
}

TEST_CASE("Copies and fills that share a byte are reported, and those that touch aren't") {
  judge_all("copies", copy_programs());
}

TEST_CASE("A kernel accesses what its arguments declare") { judge_all("kernels", kernel_programs()); }

TEST_CASE("Host functions and host threads are ordered by what they wait for") { judge_all("host", host_programs()); }

TEST_CASE("Memory that goes while another stream uses it is reported") { judge_all("memory", memory_programs()); }

TEST_CASE("Devices are ordered by events, and not by each other's ends") { judge_all("devices", device_programs()); }

TEST_CASE("Nodes of graphs are ordered by dependencies, and launches by their streams") {
  judge_all("graphs", graph_programs());
}

TEST_CASE("Rounds and pipelines over several streams are judged by what each waits for") {
  judge_all("pipelines", pipeline_programs());
}

TEST_CASE("Memory that is used again is waited for") { judge_all("reuse", reuse_programs()); }

TEST_CASE("Host functions of graphs are nodes, and an update's launches do its work") {
  judge_all("graph_functions", graph_function_programs());
}

TEST_CASE("Collectives are work of their streams") { judge_all("collectives", collective_programs()); }

TEST_CASE("What is wrapped, moved or asked for is what it stands for") { judge_all("handles", handle_programs()); }

}  // namespace races_test
