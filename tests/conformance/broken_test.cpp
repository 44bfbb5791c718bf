// SPDX-License-Identifier: Apache-2.0
// Backends that crash, hang, leave or lie: that costs the cases that found it out, and the report says where.
#include <catch2/catch.hpp>

#include "support.h"

namespace broken_test {

using namespace anyplace::test;

namespace {

/// The cases that failed, all of which are by that call of the public API, or by its entry of the plugin's table.
std::size_t failed_in(const Run& run, const std::string& call, const std::string& entry) {
  INFO(run.out << run.err);
  CHECK(run.status == 1);
  const auto report = run.json();
  CHECK(report.at("conforms") == false);
  CHECK(report.at("passed").get<int>() > 0);
  const auto failed = with_result(report, "failed");
  CHECK(report.at("failed") == failed.size());
  for (const auto& one : failed) {
    INFO(one.dump(1));
    const auto at = one.at("call").get<std::string>();
    CHECK((contains(at, call) || contains(at, entry)));
    CHECK(contains(one.at("call").get<std::string>(), "conformance/cases/"));
  }
  return failed.size();
}

}  // namespace

TEST_CASE("A crash costs the cases with that call and the report names it") {
  const Run run = conform_plugin("crashes", {"--json", "--filter", "peer"});
  CHECK(failed_in(run, "disable_peer_access", "peer_disable") >= 2);
  for (const auto& one : with_result(run.json(), "failed")) {
    CHECK(contains(one.at("reason").get<std::string>(), "SIGABRT"));
  }
}

TEST_CASE("A hang costs the cases with that call and the report names it") {
  const Run run = conform_plugin("hangs", {"--json", "--filter", "streams.native", "--timeout", "10", "--jobs", "32"});
  INFO(run.out << run.err);
  CHECK(run.status == 1);
  const auto report = run.json();
  CHECK(report.at("failed") == report.at("cases"));
  for (const auto& one : report.at("list")) {
    const auto at = one.at("call").get<std::string>();
    CHECK((contains(at, "native_handle()") || contains(at, "stream_native")));
    CHECK(contains(one.at("reason").get<std::string>(), "10.0"));
    CHECK(one.at("seconds").get<double>() >= 10);
  }
  CHECK(conform_plugin("hangs", {"--json", "--filter", "fills"}).status == 0);
}

TEST_CASE("A backend that ends the process is no success") {
  const Run run = conform_plugin("leaves", {"--json", "--filter", "devices.peer"});
  CHECK(failed_in(run, "can_access_peer", "peer_query") >= 3);
}

TEST_CASE("A capability that is claimed and absent is convicted by its name") {
  const Run run = conform_plugin("liar", {"--json", "--filter", "devices.capabilities"});
  INFO(run.out << run.err);
  CHECK(run.status == 1);
  std::vector<std::string> names;
  for (const auto& one : with_result(run.json(), "failed")) names.push_back(one.at("name"));
  CHECK(names == std::vector<std::string>{"interprocess_events: claimed and works, or refused",
                                          "device_reset: claimed and works, or refused"});
}

TEST_CASE("The text for people shows the first thing that was wrong and the call") {
  const Run run = conform_plugin("liar", {"--filter", "device_reset"});
  CHECK(run.status == 1);
  CHECK(contains(run.out, "failed  capabilities: device_reset: claimed and works, or refused"));
  CHECK(contains(run.out, "unsupported"));
  CHECK(contains(run.out, "device.reset()"));
  CHECK(run.out.ends_with("liar:0 doesn't conform\n"));
}

}  // namespace broken_test
