// SPDX-License-Identifier: Apache-2.0
// What `anyplace doctor` says of the tools.
#include <catch2/catch.hpp>
#include <string>

#include "tools.h"

namespace annotate_doctor_test {

using namespace annotate_test;

namespace {

std::string doctor(const Variables& variables) {
  const Ended ended = test::Process({ANYPLACE_COMMAND, "doctor"}, variables).end();
  CHECK(ended.status == 0);
  const std::size_t start = ended.out.find("listeners of annotations\n");
  REQUIRE(start != std::string::npos);
  return ended.out.substr(start, ended.out.find("result\n", start) - start);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("doctor says which tools listen, and why the others don't") {
  const Tools tools;
  Variables variables = tools.all();
  variables["INTEL_LIBITTNOTIFY64"] = "/nowhere/collector.so";
  const std::string said = doctor(variables);
  INFO(said);
  CHECK(contains(said, "nvtx: listens\n"));
  CHECK(contains(said, NVTX_TOOL));
  CHECK(contains(said, "roctx: doesn't listen\n"));
  CHECK(contains(said, "itt: doesn't listen\n"));
  CHECK(contains(said, "/nowhere/collector.so"));
}

TEST_CASE("doctor outlives a tool that ends its process") {
  const Tools tools;
  const std::string said =
      doctor(tools.with({{"NVTX_INJECTION64_PATH", NVTX_TOOL}, {"ANNOTATE_TEST_MODE", "ends_the_process"}}));
  INFO(said);
  CHECK(contains(said, "opening them failed"));
}

TEST_CASE("doctor outlives a tool that hangs") {
  const Tools tools;
  const std::string said = doctor(tools.with(
      {{"NVTX_INJECTION64_PATH", NVTX_TOOL}, {"ANNOTATE_TEST_MODE", "hangs"}, {"ANYPLACE_PROBE_TIMEOUT", "20"}}));
  INFO(said);
  CHECK(contains(said, "opening them failed: a child process gave no answer within 20 s"));
}

}  // namespace annotate_doctor_test
