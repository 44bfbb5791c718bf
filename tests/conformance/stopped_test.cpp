// SPDX-License-Identifier: Apache-2.0
// What is shown while the suite runs, and what is kept when it is ended early.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "support.h"
#include "support/temp_dir.h"
#include "xml.h"

namespace stopped_test {

using namespace anyplace::test;

namespace {

/// The suite on a backend that hangs in some cases, each of which is given an hour. The first case that hangs comes
/// after some that pass, so the signal, which is sent when those were shown, meets it.
struct Interrupted {
  int status = -1;
  std::string text;
  std::string junit;
};

Interrupted interrupt(int number, std::vector<std::string> more) {
  const ::test::TempDir folder;
  const std::string output = folder.file("output");
  std::string command = std::string("exec '") + ANYPLACE_COMMAND + "' conformance --place hangs:0 --plugin '" +
                        plugin_file("hangs") + "' --filter streams. --timeout 3600 --junit '" + folder.file("junit") +
                        "'";
  for (const std::string& one : more) command += " " + one;
  command += " >'" + output + "' 2>&1";
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGINT, SIG_DFL);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  while (!contains(::test::read_file(folder.file("output")), "passed  ") && waitpid(child, nullptr, WNOHANG) == 0)
    usleep(1000);
  kill(child, number);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  Interrupted result;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  result.text = ::test::read_file(folder.file("output"));
  result.junit = ::test::read_file(folder.file("junit"));
  return result;
}

}  // namespace

TEST_CASE("An interrupted run keeps what it found and its exit status says that it was interrupted") {
  for (const auto& [number, name] : {std::pair(SIGINT, "SIGINT"), std::pair(SIGTERM, "SIGTERM")}) {
    const Interrupted run = interrupt(number, {"--verbose"});
    INFO(run.text);
    CHECK(run.status == 128 + number);
    CHECK(contains(run.text, std::string("interrupted by ") + name + ": "));
    CHECK(contains(run.text, "cases were not run\n"));
    CHECK(!contains(run.text, "hangs:0 conforms"));
    const Element root = parse_xml(run.junit);
    const auto cases = root.all("testcase");
    CHECK(cases.size() == std::stoul(root.attributes.at("tests")));
    CHECK(!root.all("skipped").empty());
    CHECK(contains(run.junit, "not run: interrupted by signal " + std::to_string(number)));
  }
}

TEST_CASE("With fail-fast the first failure is the last case") {
  const Run run = conform_plugin("liar", {"--json", "--fail-fast"});
  CHECK(run.status == 1);
  const auto report = run.json();
  CHECK(report.at("failed") == 1);
  CHECK(report.at("not_run").get<int>() > 0);
  CHECK(report.at("conforms") == false);
  CHECK(report.at("interrupted").is_null());
  const Run text = conform_plugin("liar", {"--fail-fast"});
  CHECK(text.status == 1);
  CHECK(contains(text.out, "stopped at the first failure: "));
  CHECK(text.out.ends_with("liar:0 doesn't conform\n"));
}

TEST_CASE("With fail-fast a backend that conforms runs whole") {
  const Run run = conform({"--place", "cpu_sim:0", "--json", "--filter", "fills", "--fail-fast"});
  CHECK(run.status == 0);
  CHECK(run.json().at("not_run") == 0);
  CHECK(run.json().at("conforms") == true);
}

TEST_CASE("A failure says in words what is promised, and comes on standard error where standard output is JSON") {
  const Run text = conform_plugin("liar", {"--filter", "device_reset"});
  CHECK(contains(text.out, "what a device claims works; what it doesn't claim is unsupported"));
  CHECK(contains(text.out, "conformance/cases/capabilities.cpp:"));
  const Run json = conform_plugin("liar", {"--json", "--filter", "device_reset"});
  CHECK(contains(json.err, "failed  capabilities: device_reset: claimed and works, or refused"));
  CHECK(json.json().at("failed") == 1);
}

}  // namespace stopped_test
