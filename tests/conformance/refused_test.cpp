// SPDX-License-Identifier: Apache-2.0
// What the suite can't run: exit status 2, with what was wrong, and never a verdict.
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "support.h"

namespace refused_test {

using namespace anyplace::test;

namespace {

void check_refused(const Run& run, const std::string& part) {
  INFO(run.out << run.err);
  CHECK(run.status == 2);
  CHECK(run.out.empty());
  CHECK(contains(run.err, part));
  CHECK(!contains(run.err, "conforms"));
}

}  // namespace

TEST_CASE("A plugin that does not exist is refused") {
  check_refused(conform({"--place", "acme:0", "--plugin", "/no/such/libanyplace_backend_acme.so"}),
                "/no/such/libanyplace_backend_acme.so");
}

TEST_CASE("A plugin file with another kind of name is refused") {
  check_refused(conform({"--place", "acme:0", "--plugin", "/etc/hostname"}), "libanyplace_backend_");
}

TEST_CASE("A file that is no plugin is refused with the reason") {
  const auto folder = std::filesystem::temp_directory_path() / "anyplace-conformance-refused";
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "libanyplace_backend_acme.so").string();
  std::ofstream(file) << "no plugin";
  check_refused(conform({"--place", "acme:0", "--plugin", file}), file);
  std::filesystem::remove_all(folder);
}

TEST_CASE("A plugin of another backend than the place names is refused") {
  const Run run = conform({"--place", "cpu_sim:0", "--plugin", plugin_file("twin")});
  check_refused(run, plugin_file("twin"));
  CHECK(contains(run.err, "cpu_sim:0"));
}

TEST_CASE("A place without a device is refused with the places that there are") {
  check_refused(conform({"--place", "cpu_sim:99"}), "cpu_sim:1");
}

TEST_CASE("A backend that is not there is refused") { check_refused(conform({"--place", "nobody:0"}), "nobody"); }

TEST_CASE("Bad text for a place is refused") {
  check_refused(conform({"--place", "cpu_sim:-1"}), "cpu_sim:-1");
  check_refused(conform({"--place", ""}), "empty");
}

TEST_CASE("A filter that matches nothing is refused and not counted as passed") {
  check_refused(conform({"--place", "cpu_sim:0", "--filter", "no case has this"}), "no case has this");
  check_refused(conform({"--place", "cpu_sim:0", "--filter", "memory.fills", "--exclude", "fills", "--exclude", "x"}),
                "no case has 'memory.fills' in its name and lacks 'fills' and lacks 'x'");
  check_refused(conform({"--list", "--filter", "no case has this"}), "no case has this");
}

TEST_CASE("A filter that matches nothing is refused in JSON too") {
  const Run run = conform({"--place", "cpu_sim:0", "--filter", "no case has this", "--json"});
  CHECK(run.status == 2);
  CHECK(contains(run.json().at("error").at("text").get<std::string>(), "no case has this"));
}

TEST_CASE("A JUnit file that cannot be written is found out before anything runs") {
  // A place that isn't there would be the next thing to be found out.
  check_refused(conform({"--place", "nobody:0", "--junit", "/no/such/folder/report.xml"}),
                "/no/such/folder/report.xml");
}

TEST_CASE("A JUnit file that runs full is no success") {
  const Run run = conform({"--place", "cpu_sim:0", "--filter", "a big fill", "--junit", "/dev/full"});
  INFO(run.out << run.err);
  CHECK(run.status == 2);
  CHECK(contains(run.err, "/dev/full"));
}

TEST_CASE("A module that cannot be read is refused") {
  check_refused(conform({"--place", "cpu_sim:0", "--module", "/no/such/kernels.so"}), "/no/such/kernels.so");
}

TEST_CASE("Another place of the same backend is refused as the other one") {
  check_refused(conform({"--place", "cpu_sim:0", "--other", "cpu_sim:1"}), "same backend");
}

TEST_CASE("Options out of range are refused") {
  check_refused(conform({"--place", "cpu_sim:0", "--jobs", "0"}), "jobs");
  check_refused(conform({"--place", "cpu_sim:0", "--timeout", "0"}), "timeout");
  check_refused(conform({"--place", "cpu_sim:0", "--seed", "-1"}), "seed");
  check_refused(conform({"--no-such-option"}), "no-such-option");
}

}  // namespace refused_test
