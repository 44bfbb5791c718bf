// SPDX-License-Identifier: Apache-2.0
// `anyplace replay` over the doubles of the vendors' libraries: where memory is placed is the core's, so that a trace
// takes the same of every backend with virtual memory.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "run_command.h"
#include "text_file.h"
#include "training_trace.h"

namespace replay_doubles_test {

using namespace anyplace::test;
using nlohmann::json;

namespace {

struct Vendor {
  std::string place;
  std::string folder;  ///< of the double; empty if it isn't built
  std::string memory;  ///< the variable that says how much each device has
};

const std::vector<Vendor> vendors{
    {"cuda:0", ANYPLACE_CUDA_DOUBLE_FOLDER, "CUDA_DOUBLE_MEMORY"},
    {"hip:0", ANYPLACE_HIP_DOUBLE_FOLDER, "HIP_DOUBLE_MEMORY"},
    {"levelzero:0", ANYPLACE_LEVELZERO_DOUBLE_FOLDER, "LEVELZERO_DOUBLE_MEMORY"},
};

json replay(const std::string& trace, const std::string& place, const std::string& segments,
            const Variables& variables) {
  const Run run = run_command(
      {"replay", trace, "--place", place, "--segments", segments, "--find-limit", "--repeat", "2", "--json"},
      variables);
  CAPTURE(place, segments, run.out, run.err);
  REQUIRE(run.status == 0);
  return run.json();
}

}  // namespace

TEST_CASE("A trace takes as much of every backend as of cpu_sim") {
  const TextFile trace(training_trace({.layers = 6, .steps = 2, .streams = 2}));
  for (const char* segments : {"vmm", "classic"}) {
    const json expected = replay(trace.path(), "cpu_sim:0", segments, {{"ANYPLACE_CPU_SIM_MEMORY", "16GiB"}});
    for (const Vendor& vendor : vendors) {
      if (vendor.folder.empty()) continue;
      CAPTURE(vendor.place, segments);
      const json shown = replay(trace.path(), vendor.place, segments,
                                {{"LD_LIBRARY_PATH", vendor.folder},
                                 {vendor.memory, "17179869184"},
                                 {"ANYPLACE_LEVELZERO_VIRTUAL_MEMORY", "1"}});
      CHECK(shown.at("place") == vendor.place);
      CHECK(shown.at("segments") == segments);
      CHECK(shown.at("peak_live_bytes") == expected.at("peak_live_bytes"));
      if (std::string(segments) == "classic") continue;  // where a vendor puts segments decides which is taken
      for (const char* field : {"peak_reserved_bytes", "limit_bytes", "device_allocations"}) {
        CAPTURE(field);
        CHECK(shown.at(field) == expected.at(field));
      }
    }
  }
}

}  // namespace replay_doubles_test
