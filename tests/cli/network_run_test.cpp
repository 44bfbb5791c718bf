// SPDX-License-Identifier: Apache-2.0
// The times of `anyplace network` beside closed forms: latency a, bytes B, n ranks, rate r.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include "tools/network_links.h"
#include "tools/network_run.h"

namespace network_run_test {

using namespace anyplace::tool;

namespace {

constexpr double latency = 1500;  // ns
constexpr double rate = 25e9;     // bytes a second
constexpr std::uint64_t size = std::uint64_t{64} << 20;
constexpr double bytes = size;

/// Machines of one device each: one link in each direction is all that a rank has.
NetworkProfile single() {
  NetworkProfile profile;
  profile.name = "made up";
  profile.nic_bytes_per_second = rate;
  profile.network_latency_ns = latency;
  return profile;
}
/// Machines of eight devices with a NIC for each.
NetworkProfile eight() {
  NetworkProfile profile = single();
  profile.devices_per_machine = profile.nics_per_machine = 8;
  profile.device_bytes_per_second = 300e9;
  profile.device_latency_ns = 400;
  return profile;
}

double ns_of(double moved, double bytes_per_second = rate) { return moved / bytes_per_second * 1e9; }

NetworkResult run(const NetworkProfile& profile, int machines, CollectiveKind collective, const char* name) {
  for (const Algorithm* const each : algorithms_of(collective)) {
    if (std::strcmp(each->name, name) != 0) continue;
    return run_network(profile, {machines, static_cast<int>(profile.devices_per_machine)}, *each, size);
  }
  throw std::invalid_argument(name);
}

Approx within_one_percent(double ns) { return Approx(ns).epsilon(0.01); }

}  // namespace

TEST_CASE("On equal links every algorithm takes what its closed form says") {
  for (const int n : {2, 16, 256}) {
    CAPTURE(n);
    const double steps = std::log2(n), others = n - 1, part = bytes / n;
    const auto takes = [&](CollectiveKind collective, const char* name, double ns) {
      CAPTURE(name, static_cast<int>(collective));
      CHECK(run(single(), n, collective, name).ns == within_one_percent(ns));
    };
    const double message = latency + ns_of(bytes), piece = latency + ns_of(part);
    takes(CollectiveKind::all_reduce, "ring", 2 * others * piece);
    takes(CollectiveKind::all_reduce, "tree", 2 * steps * message);
    takes(CollectiveKind::all_reduce, "recursive_doubling", steps * message);
    takes(CollectiveKind::all_reduce, "halving_doubling", 2 * steps * latency + 2 * others * ns_of(part));
    takes(CollectiveKind::all_reduce, "hierarchical", 2 * others * piece);
    takes(CollectiveKind::all_reduce, "star", 2 * (latency + others * ns_of(bytes)));
    takes(CollectiveKind::reduce_scatter, "ring", others * piece);
    takes(CollectiveKind::all_gather, "ring", others * piece);
    takes(CollectiveKind::broadcast, "tree", steps * message);
    takes(CollectiveKind::broadcast, "star", latency + others * ns_of(bytes));
    takes(CollectiveKind::broadcast, "scatter_ring", steps * latency + others * ns_of(part) + others * piece);
    takes(CollectiveKind::reduce, "tree", steps * message);
    takes(CollectiveKind::reduce, "star", latency + others * ns_of(bytes));
    takes(CollectiveKind::all_to_all, "pairwise", others * piece);
  }
}

TEST_CASE("A ring of 1,024 devices in 128 machines goes as fast as its slowest links") {
  const double piece = latency + ns_of(bytes / 1024);
  CHECK(run(eight(), 128, CollectiveKind::all_reduce, "ring").ns == within_one_percent(2 * 1023 * piece));
}

TEST_CASE("hierarchical moves a part within machines and the part's part between them") {
  const double inside = 400 + ns_of(bytes / 8, 300e9), between = latency + ns_of(bytes / 1024);
  CHECK(run(eight(), 128, CollectiveKind::all_reduce, "hierarchical").ns ==
        within_one_percent(2 * 7 * inside + 2 * 127 * between));
}

TEST_CASE("Devices that share a NIC get equal parts of it") {
  NetworkProfile profile = eight();
  profile.nics_per_machine = 2;
  const double inside = 400 + ns_of(bytes / 8, 300e9), between = latency + 4 * ns_of(bytes / 32);
  CHECK(run(profile, 4, CollectiveKind::all_gather, "hierarchical").ns == within_one_percent(3 * between + 7 * inside));
}

TEST_CASE("Two devices of a machine have no more than the link between them") {
  NetworkProfile profile = eight();
  profile.pair_bytes_per_second = 60e9;
  CHECK(run(profile, 1, CollectiveKind::all_gather, "ring").ns ==
        within_one_percent(7 * (400 + ns_of(bytes / 8, 60e9))));
  // The star's messages have links of their own, and together as much as the device has.
  CHECK(run(profile, 1, CollectiveKind::broadcast, "star").ns == within_one_percent(400 + 7 * ns_of(bytes, 300e9)));
}

TEST_CASE("Messages between groups of machines share the uplinks and take longer") {
  NetworkProfile profile = single();
  profile.levels.push_back({2, rate, 700});
  // Of four machines in two groups, one of each group sends to the other group in the first and the third step, and
  // both do in the second.
  const double part = ns_of(bytes / 4), far = latency + 700;
  CHECK(run(profile, 4, CollectiveKind::all_to_all, "pairwise").ns == within_one_percent(3 * far + 4 * part));
}

TEST_CASE("Adding takes the memory's time for what is read and written") {
  NetworkProfile profile = single();
  profile.memory_bytes_per_second = 100e9;
  const double ring = 2 * 15 * (latency + ns_of(bytes / 16)) + 15 * ns_of(3 * bytes / 16, 100e9);
  CHECK(run(profile, 16, CollectiveKind::all_reduce, "ring").ns == within_one_percent(ring));
  // Fifteen arrays are added to one in three passes, each of which reads and writes the sum.
  const double star = latency + 15 * ns_of(bytes) + ns_of((15 + 2 * 3) * bytes, 100e9);
  CHECK(run(profile, 16, CollectiveKind::reduce, "star").ns == within_one_percent(star));
}

TEST_CASE("The time is told apart without a rest, and its largest part is the bottleneck") {
  NetworkProfile profile = eight();
  profile.memory_bytes_per_second = 2e12;
  profile.levels.push_back({4, rate / 4, 100});
  for (const Algorithm& each : algorithms()) {
    CAPTURE(each.name, static_cast<int>(each.collective));
    const NetworkResult result = run_network(profile, {8, 8}, each, size);
    double sum = 0;
    for (const TimeShare& share : result.shares) sum += share.ns;
    CHECK(sum == Approx(result.ns).epsilon(1e-9));
    for (const LinkUse& use : result.links) CHECK(use.busiest <= 1 + 1e-9);
  }
  // 32 devices of a group have a quarter of one NIC's rate to the other groups.
  CHECK(run(profile, 8, CollectiveKind::all_to_all, "pairwise").shares.front().what == "uplinks of level 1");
  CHECK(run(eight(), 1, CollectiveKind::all_reduce, "tree").shares.front().what == "links of devices");
  CHECK(run_network(eight(), {128, 8}, *algorithms_of(CollectiveKind::all_reduce).front(), 8).shares.front().what ==
        "latency between machines");
}

TEST_CASE("The same question has the same answer, to the bit") {
  const NetworkResult first = run(eight(), 9, CollectiveKind::all_to_all, "pairwise");
  const NetworkResult second = run(eight(), 9, CollectiveKind::all_to_all, "pairwise");
  CHECK(first.ns == second.ns);
  CHECK(first.messages == second.messages);
  REQUIRE(first.shares.size() == second.shares.size());
  for (std::size_t i = 0; i < first.shares.size(); ++i) CHECK(first.shares[i].ns == second.shares[i].ns);
}

// ---- Shares of links -----------------------------------------------------------------------------------------------

namespace {

Flow flow_over(std::initializer_list<std::uint32_t> links) {
  Flow flow;
  flow.left = 1000;
  for (const std::uint32_t link : links) flow.way.links[flow.way.count++] = link;
  return flow;
}

}  // namespace

TEST_CASE("What a message can't use of a link the others get") {
  std::vector<Link> links{{1.0, 0, 0, {}}, {0.25, 1, 0, {}}};
  LinkShares shares(links);
  std::vector<Flow> flows{flow_over({0}), flow_over({0, 1}), flow_over({0})};
  for (std::uint32_t flow = 0; flow < flows.size(); ++flow) shares.enter(flows, flow);
  CHECK(shares.settle(flows, 0).size() == 3);
  CHECK(flows[0].rate == Approx(0.375));
  CHECK(flows[1].rate == Approx(0.25));
  CHECK(flows[2].rate == Approx(0.375));
  CHECK(flows[1].slowest == 1);

  shares.leave(flows, 0);
  CHECK(shares.settle(flows, 100).size() == 1);  // the second one's rate stays
  CHECK(flows[2].rate == Approx(0.75));
  CHECK(flows[2].left == Approx(1000 - 37.5));
}

TEST_CASE("Messages that share no link don't change each other's rate") {
  std::vector<Link> links{{1.0, 0, 0, {}}, {1.0, 0, 0, {}}};
  LinkShares shares(links);
  std::vector<Flow> flows{flow_over({0}), flow_over({1})};
  shares.enter(flows, 0);
  CHECK(shares.settle(flows, 0).size() == 1);
  shares.enter(flows, 1);
  CHECK(shares.settle(flows, 0) == std::vector<std::uint32_t>{1});
  CHECK(shares.settle(flows, 0).empty());
}

}  // namespace network_run_test
