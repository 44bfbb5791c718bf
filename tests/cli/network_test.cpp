// SPDX-License-Identifier: Apache-2.0
// `anyplace network`: what it prints, and what it refuses.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_command.h"
#include "text_file.h"

namespace network_test {

using namespace anyplace::test;

namespace {

Run run_network(std::vector<std::string> options) {
  options.insert(options.begin(), {"network"});
  return run_command(options);
}

}  // namespace

TEST_CASE("network prints each algorithm's time for each size, the fastest first, and what holds it up") {
  const Run run = run_network({"--profile", "dgx_h100", "--machines", "2", "--bytes", "8KiB,1GiB"});
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  CHECK(contains(run.out, "all_reduce on dgx_h100: 2 machines of 8 devices, 16 ranks"));
  for (const char* part : {"8.0 KiB", "1.0 GiB", "ring", "tree", "recursive_doubling", "halving_doubling",
                           "hierarchical", "star", "BUS RATE", "NICs", "latency between machines"}) {
    CAPTURE(part);
    CHECK(contains(run.out, part));
  }
  const std::size_t large = run.out.find("1.0 GiB");
  CHECK(contains(run.out.substr(0, large), "anyplace does: recursive_doubling, by the engine mpi"));
  CHECK(contains(run.out.substr(large), "anyplace does: the library's own"));
  CHECK(run.out.find("hierarchical", large) < run.out.find("star", large));
}

TEST_CASE("network writes JSON with the bottleneck of each algorithm") {
  const Run run = run_network({"--profile", "dgx_h100", "--ranks", "32", "--collective", "all_gather", "--algorithm",
                               "ring", "--bytes", "32MiB", "--json"});
  CHECK(run.status == 0);
  const nlohmann::json json = run.json();
  CHECK(json["machines"] == 4);
  CHECK(json["devices_per_machine"] == 8);
  CHECK(json["ranks"] == 32);
  CHECK(json["collective"] == "all_gather");
  REQUIRE(json["sizes"].size() == 1);
  CHECK(json["sizes"][0]["bytes"] == 32 << 20);
  REQUIRE(json["sizes"][0]["algorithms"].size() == 1);
  const nlohmann::json& ring = json["sizes"][0]["algorithms"][0];
  CHECK(ring["name"] == "ring");
  CHECK(ring["executed_by"].is_null());
  CHECK(ring["messages"] == 32 * 31);
  CHECK(ring["same_bits"] == true);
  // A step is 1 MiB over a NIC of 50 GB/s.
  CHECK(ring["ns"].get<double>() == Approx(31 * (2700 + 1048576 / 50.0)).epsilon(0.01));
  CHECK(ring["time"]["NICs"].get<double>() == Approx(31 * 1048576 / 50.0).epsilon(0.01));
  double sum = 0;
  for (const auto& [what, ns] : ring["time"].items()) sum += ns.get<double>();
  CHECK(sum == Approx(ring["ns"].get<double>()));
}

TEST_CASE("network reads a file of one's own") {
  const TextFile file(R"({
    "anyplace_network_profile": 1,
    "name": "mine",
    "description": "two hosts back to back",
    "sources": {"cable": "1 Gb/s"},
    "devices_per_machine": {"value": 1, "source": "cable"},
    "nic_bytes_per_second": {"value": 125e6, "source": "cable"}
  })",
                      "mine.json");
  const Run run = run_network({"--profile", file.path(), "--machines", "2", "--collective", "broadcast", "--algorithm",
                               "tree", "--bytes", "125000000"});
  CHECK(run.status == 0);
  CHECK(contains(run.out, "broadcast on mine: 2 machines of 1 device, 2 ranks"));
  CHECK(contains(run.out, "1.00 s"));
  CHECK(contains(run.out, "NICs 100 %"));
}

TEST_CASE("network refuses what is wrong with status 2 and says what would be right") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
      {{"--machines", "2"}, "--profile is required"},
      {{"--profile", "h100", "--machines", "2"}, "there is no network's profile \"h100\"; they are dgx_h100"},
      {{"--profile", "./none.json", "--machines", "2"}, "./none.json can't be read"},
      {{"--profile", "p4d"}, "give either --machines or --ranks"},
      {{"--profile", "p4d", "--machines", "2", "--ranks", "16"}, "give either --machines or --ranks"},
      {{"--profile", "p4d", "--machines", "0"}, "--machines is '0'; it takes a whole number, 1 to 2048"},
      {{"--profile", "p4d", "--machines", "-3"}, "--machines is '-3'; it takes a whole number"},
      {{"--profile", "p4d", "--machines", "many"}, "--machines is 'many'"},
      {{"--profile", "p4d", "--ranks", "12"}, "12 ranks aren't whole machines: p4d has 8 devices in each"},
      {{"--profile", "p4d", "--machines", "1000"}, "1000 machines of 8 devices are more than 2048 ranks"},
      {{"--profile", "ethernet_25g", "--machines", "1"}, "a rank that is alone has nothing to send"},
      {{"--profile", "p4d", "--machines", "2", "--collective", "all_reduse"},
       "all_reduse not in {all_reduce,reduce_scatter,all_gather,broadcast,reduce,all_to_all}"},
      {{"--profile", "p4d", "--machines", "2", "--algorithm", "rng"},
       "all_reduce has no algorithm 'rng'; it has ring, tree, recursive_doubling, halving_doubling, hierarchical, "
       "star"},
      {{"--profile", "p4d", "--machines", "2", "--collective", "reduce", "--algorithm", "ring"},
       "reduce has no algorithm 'ring'; it has tree, star"},
      {{"--profile", "p4d", "--machines", "2", "--bytes", "0"}, "--bytes has '0'; a size is bytes"},
      {{"--profile", "p4d", "--machines", "2", "--bytes", "1MiB,,2MiB"}, "--bytes has ''"},
      {{"--profile", "p4d", "--machines", "2", "--bytes", "1MB"}, "--bytes has '1MB'"},
      {{"--profile", "p4d", "--machines", "2", "--bytes", "2000TiB"}, "1 to 1024TiB"},
  };
  for (const auto& [options, right] : wrong) {
    CAPTURE(options);
    const Run run = run_network(options);
    CHECK(run.status == 2);
    CHECK(run.out.empty());
    CHECK(contains(run.err, right));
  }
}

}  // namespace network_test
