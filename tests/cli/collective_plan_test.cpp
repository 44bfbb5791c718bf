// SPDX-License-Identifier: Apache-2.0
// The plans of `anyplace network`: that each gives its collective's result, and that a wrong one is noticed.
#include <catch2/catch.hpp>
#include <cstring>
#include <stdexcept>
#include <string>

#include "anyplace/backend/kit/recursive_doubling.h"
#include "tools/collective_plan.h"
#include "tools/network_run.h"

namespace collective_plan_test {

using namespace anyplace::tool;
using Catch::Contains;

namespace {

NetworkProfile machines_of(int devices) {
  NetworkProfile profile;
  profile.name = "made up";
  profile.devices_per_machine = static_cast<std::uint32_t>(devices);
  profile.device_bytes_per_second = 100e9;
  profile.device_latency_ns = 300;
  profile.nic_bytes_per_second = 10e9;
  profile.network_latency_ns = 2000;
  profile.memory_bytes_per_second = 1e12;
  return profile;
}

const Algorithm& algorithm(CollectiveKind collective, const char* name) {
  for (const Algorithm* const each : algorithms_of(collective)) {
    if (std::strcmp(each->name, name) == 0) return *each;
  }
  throw std::invalid_argument(name);
}

std::uint32_t one(const Ranks& /*ranks*/) { return 1; }
std::uint32_t zeroth(const Ranks& /*ranks*/, int /*rank*/) { return 0; }

/// An all_reduce that goes wrong.
Algorithm wrong(PlanSteps (*steps)(const Ranks&, int)) {
  return {"wrong", CollectiveKind::all_reduce, "", one, steps, zeroth};
}

}  // namespace

TEST_CASE("Every algorithm gives what its collective promises, whatever the number of machines and devices") {
  for (const int devices : {1, 2, 3, 4, 7, 8}) {
    for (int machines = 1; machines <= 9; ++machines) {
      for (const Algorithm& each : algorithms()) {
        CAPTURE(devices, machines, each.name, collective_names()[static_cast<std::size_t>(each.collective)]);
        // It throws where a rank's result is wrong.
        const NetworkResult result = run_network(machines_of(devices), {machines, devices}, each, 1 << 20);
        CHECK(result.same_bits);
      }
    }
  }
}

TEST_CASE("All algorithms give 1,024 ranks what their collectives promise") {
  for (const Algorithm& each : algorithms()) {
    CAPTURE(each.name, collective_names()[static_cast<std::size_t>(each.collective)]);
    const NetworkResult result = run_network(machines_of(8), {128, 8}, each, 1 << 20);
    CHECK(result.same_bits);
    CHECK(result.messages > 0);
  }
}

TEST_CASE("A step receives plainly into no block that it sends") {
  const Ranks ranks{5, 3};
  for (const Algorithm& each : algorithms()) {
    for (int rank = 0; rank < ranks.count(); ++rank) {
      for (const PlanStep& step : each.steps(ranks, rank)) {
        if (step.send_to < 0 || step.receive_from < 0 || step.reduces) continue;
        CAPTURE(each.name, rank);
        const bool before = step.received.first + step.received.count <= step.sent.first;
        const bool after = step.received.first >= step.sent.first + step.sent.count;
        CHECK((before || after));
      }
    }
  }
}

TEST_CASE("recursive_doubling has the steps that the engine mpi executes") {
  for (int size = 1; size <= 40; ++size) {
    for (int rank = 0; rank < size; ++rank) {
      CAPTURE(size, rank);
      const PlanSteps plan = algorithm(CollectiveKind::all_reduce, "recursive_doubling").steps({size, 1}, rank);
      const auto steps = anyplace::backend::recursive_doubling(rank, size);
      REQUIRE(plan.size() == steps.size());
      for (std::size_t i = 0; i < plan.size(); ++i) {
        CHECK(plan[i].send_to == steps[i].send_to);
        CHECK(plan[i].receive_from == steps[i].receive_from);
        CHECK(plan[i].reduces == steps[i].reduces);
        CHECK(plan[i].comes_first == steps[i].comes_first);
        CHECK_FALSE(plan[i].with_next);
      }
    }
  }
}

TEST_CASE("A plan that leaves out a rank, waits for ever or differs in its blocks is an error that says so") {
  const NetworkProfile profile = machines_of(2);
  const auto run = [&](PlanSteps (*steps)(const Ranks&, int)) { run_network(profile, {1, 2}, wrong(steps), 64); };
  CHECK_THROWS_WITH(run([](const Ranks&, int) { return PlanSteps(); }),
                    Contains("block 0 of rank 0 isn't what it has to be"));
  CHECK_THROWS_WITH(run([](const Ranks&, int rank) {
                      return rank == 0 ? PlanSteps{{-1, 1, {}, {0, 1}, true}} : PlanSteps();
                    }),
                    Contains("rank 0 waits for ever in step 0"));
  CHECK_THROWS_WITH(run([](const Ranks&, int rank) {
                      return rank == 0 ? PlanSteps{{-1, 1, {}, {0, 0}, true}} : PlanSteps{{0, -1, {0, 1}, {}}};
                    }),
                    Contains("rank 1 sends 1 blocks, and rank 0 receives another number"));
}

TEST_CASE("Ranks that add in different orders are told from ranks that have the same bits") {
  // Each adds the other's value after its own.
  const Algorithm own_first = wrong([](const Ranks&, int rank) {
    return PlanSteps{{1 - rank, 1 - rank, {0, 1}, {0, 1}, true, false}};
  });
  CHECK_FALSE(run_network(machines_of(2), {1, 2}, own_first, 64).same_bits);
}

}  // namespace collective_plan_test
