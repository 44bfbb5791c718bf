// SPDX-License-Identifier: Apache-2.0
// Ranks under mpirun in cpu_sim's deterministic mode (docs/cpu_sim-deterministic.md#ranks): one seed is the whole job.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "ranks/launch.h"

namespace deterministic_test {

using test::Ended;
using test::Variables;

namespace {

struct Job {
  Ended ended;
  std::vector<std::string> reports;  ///< in the order of ranks
  std::vector<std::string> traces;   ///< in the same order; empty where the layer isn't built
};

Job run(int size, const char* mode, int seed) {
  const test::TempDir folder;
  Job job;
  Variables variables{{"ANYPLACE_CPU_SIM_MODE", "deterministic"},
                      {"ANYPLACE_CPU_SIM_SEED", std::to_string(seed)},
                      {"ANYPLACE_CPU_SIM_REPORT", folder.file("report")}};
  if (RANKS_TRACES) {
    variables["ANYPLACE_LAYERS"] = "trace";
    variables["ANYPLACE_TRACE"] = folder.file("trace.%r");
  }
  job.ended = test::run_mpi(size, {RANKS_WORKER, "cpu_sim", "mpi", mode}, variables);
  for (int rank = 0; rank < size; ++rank) {
    job.reports.push_back(
        test::read_file(folder / (rank == 0 ? std::string("report") : "report." + std::to_string(rank))));
    if (RANKS_TRACES) job.traces.push_back(test::read_file(folder / ("trace." + std::to_string(rank))));
  }
  return job;
}

}  // namespace

// Of two threads that had done with a collective, chance said once which one gave its gate back: traces differed.
TEST_CASE("Given 2, 4 and 8 ranks in deterministic mode with one seed then two runs write equal reports and traces") {
  if (!test::has_mpirun()) return;
  for (const int size : {2, 4, 8}) {
    const Job first = run(size, "order", size);
    const Job second = run(size, "order", size);
    INFO(first.ended.out);
    CHECK(first.ended.status == 0);
    CHECK(second.ended.status == 0);
    for (const std::string& report : first.reports) {
      CHECK_THAT(report, Catch::Contains("\"message arrives\"") && Catch::Contains("\"uncontrolled\":0"));
    }
    CHECK((first.reports == second.reports));
    for (const std::string& trace : first.traces) CHECK(trace.size() > 1000);
    CHECK((first.traces == second.traces));
  }
}

TEST_CASE("Given ranks in deterministic mode with two communicators in opposite orders on two streams then they end") {
  if (!test::has_mpirun()) return;
  for (const int seed : {1, 2}) {
    const Job first = run(2, "opposite", seed);
    INFO(first.ended.out);
    CHECK(first.ended.status == 0);
    CHECK((first.reports == run(2, "opposite", seed).reports));
  }
}

TEST_CASE("Given ranks in deterministic mode with opposite orders on one stream then each reports the deadlock") {
  if (!test::has_mpirun()) return;
  const Job job = run(2, "opposite_in_one_stream", 1);
  INFO(job.ended.out);
  CHECK_FALSE(job.ended.hung);
  CHECK(job.ended.status != 0);
  for (const char* const rank : {"rank 0: deadlock: ", "rank 1: deadlock: "}) {
    CHECK_THAT(job.ended.out, Catch::Contains(rank));
  }
  for (const std::string& report : job.reports) CHECK_THAT(report, Catch::Contains("wait for a message"));
}

}  // namespace deterministic_test
