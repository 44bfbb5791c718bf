// SPDX-License-Identifier: Apache-2.0
// The command line itself: help, versions, exit statuses, and an output that can't be written.
#include <anyplace/anyplace.h>
#include <nlohmann/json.hpp>

#include <catch2/catch.hpp>

#include "run_command.h"

namespace usage_test {

using namespace anyplace::test;
using nlohmann::json;

TEST_CASE("version tells the library from the headers and names the plugin ABI") {
  const Run run = run_command({"version", "--json"});
  CHECK(run.status == 0);
  CHECK(run.json() ==
        json{{"library", anyplace::version()}, {"headers", ANYPLACE_VERSION}, {"abi", {{"major", 1}, {"minor", 0}}}});
  const Run text = run_command({"version"});
  CHECK(text.status == 0);
  CHECK(text.out.starts_with(std::string("anyplace ") + anyplace::version() + "\n"));
  CHECK(run_command({"--version"}).out == text.out);
}

TEST_CASE("--help lists the commands and the exit statuses") {
  const Run run = run_command({"--help"});
  CHECK(run.status == 0);
  for (const char* part : {"devices", "info", "doctor", "version", "Exit status:", "ANYPLACE_PROBE_TIMEOUT"}) {
    CAPTURE(part);
    CHECK(contains(run.out, part));
  }
  const Run one = run_command({"info", "--help"});
  CHECK(one.status == 0);
  CHECK(contains(one.out, "PLACE"));
  CHECK(contains(one.out, "--json"));
}

TEST_CASE("A wrong command line exits 2 and says what would be right") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
      {{}, "commands: devices, info, doctor, version, conformance, compile, cache, new-backend, new-compiler, replay"},
      {{"devcies"}, "did you mean 'devices'?"},
      {{"everything"},
       "commands: devices, info, doctor, version, conformance, compile, cache, new-backend, new-compiler, replay"},
      {{"--jsn"},
       "commands: devices, info, doctor, version, conformance, compile, cache, new-backend, new-compiler, replay"},
      {{"devices", "--jsn"}, "usage: anyplace devices [--json]"},
      {{"devices", "cpu_sim"}, "usage: anyplace devices [--json]"},
      {{"info"}, "usage: anyplace info PLACE [--json]"},
      {{"info", "cpu_sim:0", "cpu_sim:1"}, "usage: anyplace info PLACE [--json]"},
      {{"devices", "version"}, "usage: anyplace devices [--json]"},
      {{"replay", "--everything"}, "usage: anyplace replay TRACE --place PLACE [option...] [--json]"},
  };
  for (const auto& [arguments, right] : wrong) {
    CAPTURE(arguments);
    const Run run = run_command(arguments);
    CHECK(run.status == 2);
    CHECK(run.out.empty());
    CHECK(contains(run.err, right));
  }
}

TEST_CASE("A probe timeout that is no number of seconds exits 2 and names the variable") {
  for (const char* value : {"soon", "-1", "0", "1e9", "nan", "5x", " 5"}) {
    CAPTURE(value);
    const Run run = run_command({"devices"}, {{"ANYPLACE_PROBE_TIMEOUT", value}});
    CHECK(run.status == 2);
    CHECK(run.out.empty());
    CHECK(contains(run.err, "ANYPLACE_PROBE_TIMEOUT"));
    CHECK(contains(run.err, "1 to 3600"));
  }
  // What a command doesn't use it doesn't complain about.
  CHECK(run_command({"version"}, {{"ANYPLACE_PROBE_TIMEOUT", "soon"}}).status == 0);
}

TEST_CASE("An output that can't be written is an error") {
  const Output output = GENERATE(Output::full, Output::closed, Output::broken_pipe);
  for (const char* command : {"devices", "doctor", "version"}) {
    CAPTURE(command, static_cast<int>(output));
    const Run run = run_command({command}, {}, output);
    CHECK(run.status == 1);
    CHECK(contains(run.err, "can't write to standard output"));
  }
}

}  // namespace usage_test
