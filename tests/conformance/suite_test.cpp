// SPDX-License-Identifier: Apache-2.0
// What the suite says of a backend that conforms, and of itself.
#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support.h"
#include "support/temp_dir.h"

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

/// Returns the first line in which they differ, as each has it.
std::string first_difference(const std::string& one, const std::string& other) {
  std::istringstream lines(one);
  std::istringstream others(other);
  std::string line;
  std::string other_line;
  for (int number = 1;; ++number) {
    const bool has_line = bool(std::getline(lines, line));
    const bool has_other = bool(std::getline(others, other_line));
    if (!has_line && !has_other) return "they don't differ";
    if (has_line && has_other && line == other_line) continue;
    return "line " + std::to_string(number) + ":\n" + (has_line ? line : "(none)") + "\n" +
           (has_other ? other_line : "(none)");
  }
}

#if !defined(__SANITIZE_THREAD__)  // ThreadSanitizer has a thread of its own in each process, which nobody chooses
// Each had another report in each run, or in one of hundreds: by a thread that was started while the process's threads
// were listed, by the addresses that the system gives, and by the host's clock.
TEST_CASE("Two runs of a case in cpu_sim's deterministic mode leave the same report") {
  for (const char* const name : {"streams, events and buffers are made and destroyed by several threads",
                                 "buffers aligned to 64 KiB begin at such an address, and every byte can be used",
                                 "synchronising a device with a timeout says when time ran out"}) {
    INFO(name);
    std::vector<std::string> reports;
    for (int again = 0; again < 3; ++again) {
      const ::test::TempDir folder;
      const Run run =
          conform({"--place", "cpu_sim:0", "--filter", name}, {{"ANYPLACE_CPU_SIM_MODE", "deterministic"},
                                                               {"ANYPLACE_CPU_SIM_SEED", "9"},
                                                               {"ANYPLACE_CPU_SIM_REPORT", folder.file("report")}});
      INFO(run.out << run.err);
      CHECK(run.status == 0);
      reports.push_back(::test::read_file(folder / "report"));
      CHECK_THAT(reports.back(), Catch::Contains("\"end\":1"));
    }
    for (const std::string& again : {reports[1], reports[2]}) {
      INFO(first_difference(reports[0], again));
      CHECK((reports[0] == again));
    }
  }
}

// The core's thread that frees it executes what is ready meanwhile, where an access of protected memory is a fault that
// is handled.
TEST_CASE("A host function may destroy a buffer in the deterministic mode, with protected memory") {
  const Run run = conform({"--place", "cpu_sim:0", "--filter", "it may destroy a buffer that later work doesn't use"},
                          {{"ANYPLACE_CPU_SIM_MODE", "deterministic"}, {"ANYPLACE_CPU_SIM_PROTECT", "pages"}});
  INFO(run.out << run.err);
  CHECK(run.status == 0);
}
#endif

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
