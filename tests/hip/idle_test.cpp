// SPDX-License-Identifier: Apache-2.0
//
// Over libraries of HIP's name that are none, or that say yes to everything and do nothing. Each case is a child, which
// loads one.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "anyplace/anyplace.h"
#include "cli/run_command.h"

namespace idle_test {

namespace {

using anyplace::test::Run;
using anyplace::test::run_command;
using Catch::Contains;

Run info_with(const char* folder, const char* devices = nullptr) {
  anyplace::test::Variables variables{{"LD_LIBRARY_PATH", std::string(IDLE_FOLDER "/") + folder}};
  if (devices != nullptr) variables.emplace("IDLE_HIP_DEVICES", devices);
  return run_command({"info", "hip:0"}, variables);
}

}  // namespace

TEST_CASE("A library that lacks what is needed is refused with the name of it") {
  const Run run = info_with("lacks");
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("lacks hipInit") && Contains("HIP 6.4.43484") && Contains("libamdhip64.so.7"));
}

TEST_CASE("A library that is too old is refused with its version and the one needed") {
  const Run run = info_with("old");
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("HIP 4.5.21153") && Contains("HIP 5.2"));
}

TEST_CASE("A library whose every call succeeds but does nothing has no device") {
  const Run run = info_with("idle");
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("finds no device"));
}

TEST_CASE("A library that has a device but does nothing is found out and crashes nobody") {
  const Run info = info_with("idle", "1");
  INFO(info.out << info.err);
  CHECK(info.status <= 1);
  const Run suite = run_command({"conformance", "--place", "hip:0", "--filter", "fills", "--timeout", "300"},
                                {{"LD_LIBRARY_PATH", IDLE_FOLDER "/idle"}, {"IDLE_HIP_DEVICES", "1"}});
  INFO(suite.out << suite.err);
  CHECK(suite.status == 1);
}

}  // namespace idle_test
