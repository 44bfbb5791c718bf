// SPDX-License-Identifier: Apache-2.0
// What the suite says of a backend that conforms, and of itself.
#include <catch2/catch.hpp>

#include "support.h"

namespace suite_test {

using namespace anyplace::test;

TEST_CASE("The whole suite passes on cpu_sim and its report counts at least 300 cases") {
  const Run run = conform({"--place", "cpu_sim:0", "--json", "--junit", ANYPLACE_SUITES "/cpu_sim.xml"});
  INFO(run.out << run.err);
  CHECK(run.status == 0);
  const auto report = run.json();
  CHECK(report.at("conforms") == true);
  CHECK(report.at("place") == "cpu_sim:0");
  CHECK(report.at("backend") == "cpu_sim");
  CHECK(report.at("seed") == 1);
  CHECK(report.at("cases").get<int>() >= 300);
  CHECK(report.at("failed") == 0);
  CHECK(report.at("cases").get<int>() ==
        report.at("passed").get<int>() + report.at("failed").get<int>() + report.at("skipped").get<int>());
  CHECK(report.at("list").size() == report.at("cases"));
  // cpu_sim has everything but these: whatever else is skipped is a hole in the suite.
  for (const auto& one : with_result(report, "skipped")) {
    INFO(one.dump());
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    if (one.at("lacks").get<std::string>().rfind("a build without sanitizers", 0) == 0) continue;
#endif
    // Its engine for collectives between processes is MPI, which needs a launcher: tests/ranks.
    if (one.at("lacks") == "an engine of the backend's own between processes") continue;
    // It lists one process, its own.
    if (one.at("lacks") == "a device that lists a second process that uses it") continue;
    CHECK(one.at("lacks") == "a device of another backend");
  }
}

TEST_CASE("A backend beside cpu_sim runs the cases between two backends too") {
  const Run run = conform_plugin("twin", {"--json", "--filter", "backend"});
  INFO(run.out << run.err);
  CHECK(run.status == 0);
  const auto report = run.json();
  CHECK(report.at("backend") == "twin");
  CHECK(report.at("failed") == 0);
  for (const auto& one : with_result(report, "skipped")) {
    INFO(one.dump());
    CHECK(one.at("lacks") != "a device of another backend");
  }
}

TEST_CASE("A backend that claims nothing conforms and each skipped case names what it lacks") {
  const Run run = conform_plugin("modest", {"--json", "--filter", "capabilities"});
  INFO(run.out << run.err);
  CHECK(run.status == 0);
  CHECK(run.json().at("failed") == 0);
  const Run skipped = conform_plugin("modest", {"--json", "--filter", "elapsed time"});
  CHECK(skipped.status == 2);
  const auto report = skipped.json();
  for (const auto& one : report.at("list")) {
    CHECK(one.at("result") == "skipped");
    CHECK(one.at("lacks") == "timed_events");
    CHECK(one.at("reason").is_null());
  }
}

TEST_CASE("Several cases at the same time give the same result") {
  const Run run = conform({"--place", "cpu_sim:1", "--json", "--filter", "events", "--jobs", "4"});
  INFO(run.out << run.err);
  CHECK(run.status == 0);
  CHECK(run.json().at("failed") == 0);
}

}  // namespace suite_test
