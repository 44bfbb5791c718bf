// SPDX-License-Identifier: Apache-2.0
// `anyplace sweep`: what it says of programs that take failures well, or don't.
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/run_command.h"
#include "support/temp_dir.h"

namespace sweep_test {

using anyplace::test::contains;
using anyplace::test::Run;
using anyplace::test::run_command;
using anyplace::test::run_program;
using Catch::Contains;
using nlohmann::json;
using Words = std::vector<std::string>;

namespace {

/// Sweeps the program in that mode. Its folders are in `folder`.
Run sweep(const test::TempDir& folder, const Words& options, const Words& arguments) {
  Words program{ANYPLACE_SWEPT};
  program.insert(program.end(), arguments.begin(), arguments.end());
  return run_program("sweep", options, program, folder.path().string());
}

std::map<std::string, int> outcomes(const json& answer) {
  std::map<std::string, int> counts;
  for (const json& run : answer.at("runs")) ++counts[run.at("outcome").get<std::string>()];
  return counts;
}

/// The first run of that outcome.
json first_of(const json& answer, const std::string& outcome) {
  for (const json& run : answer.at("runs")) {
    if (run.at("outcome") == outcome) return run;
  }
  FAIL("there is no " << outcome << ": " << answer.dump());
  return {};
}

}  // namespace

TEST_CASE("Of a program that takes each failure well the sweep says so, and leaves nothing behind") {
  const test::TempDir folder;
  const Run run = sweep(folder, {"--json"}, {"frees"});
  INFO(run.out << run.err);
  CHECK(run.status == 0);
  const json answer = run.json();
  CHECK(answer.at("calls") > 5);
  CHECK(answer.at("runs").size() == answer.at("calls"));
  const auto counts = outcomes(answer);
  CHECK(counts.count("clean error") == 1);
  for (const char* const bad : {"wrong result", "leak", "hang", "crash"}) CHECK(counts.count(bad) == 0);
  CHECK(first_of(answer, "clean error").at("exit_status") == 3);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("A run that goes wrong is shown with a line that makes it again") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"crashes", "crash"}, {"hangs", "hang"}, {"goes on", "wrong result"}, {"leaks", "leak"}};
  for (const auto& [mode, outcome] : cases) {
    INFO(mode);
    const test::TempDir folder;
    const Run run = sweep(folder, {"--json", "--timeout", "5", "--entry", "memory_set"}, {mode, "two words", "it's"});
    INFO(run.out << run.err);
    CHECK(run.status == 1);
    const json bad = first_of(run.json(), outcome);
    CHECK(bad.at("entry") == "memory_set");
    CHECK(bad.at("call") == 1);
    CHECK_THAT(bad.at("again").get<std::string>(),
               Contains("ANYPLACE_FAULTS='memory_set=backend_failed nth=1'") && Contains(" 'two words' 'it'\\''s'"));
    CHECK(std::filesystem::exists(bad.at("output").get<std::string>() + "/stderr"));
    if (mode != "hangs") {
      const test::TempDir elsewhere;
      const std::string line = "cd " + elsewhere.path().string() + "; " + bad.at("again").get<std::string>();
      const test::Ended again = test::Process({"/bin/sh", "-c", line}).end();
      CHECK_THAT(again.out, Contains("two words\nit's\n") && Contains("the layer faults made this fail"));
    }
  }
}

TEST_CASE("What a lost device leaves is no leak") {
  const test::TempDir folder;
  const Run run = sweep(folder, {"--json", "--status", "device_lost", "--entry", "memory_set"}, {"leaks"});
  INFO(run.out << run.err);
  CHECK(run.status == 0);
  CHECK(outcomes(run.json()).count("leak") == 0);
}

TEST_CASE("Of a program that forks each process has its failure, and no process is left behind") {
  const test::TempDir folder;
  const Run run = sweep(folder, {"--json", "--status", "out_of_memory", "--every", "3"}, {"forks"});
  INFO(run.out << run.err);
  CHECK(run.status == 0);
  const json answer = run.json();
  CHECK(answer.at("runs").size() == (answer.at("calls").get<std::size_t>() + 2) / 3);
  CHECK(outcomes(answer).count("clean error") == 1);
}

TEST_CASE("The sweep in words counts the outcomes and shows each bad run") {
  const test::TempDir folder;
  const Run run = sweep(folder, {"--entry", "memory_set", "--timeout", "60"}, {"crashes"});
  INFO(run.out << run.err);
  CHECK(run.status == 1);
  CHECK_THAT(run.out, Contains("1 call, 1 run with a failure") && Contains("crash at call 1 (memory_set): Aborted") &&
                          Contains("ANYPLACE_LAYERS=faults ANYPLACE_FAULTS="));
}

TEST_CASE("What can't be swept is refused, with the reason") {
  const test::TempDir folder;
  const Run endless = sweep(folder, {"--timeout", "1"}, {"never ends"});
  CHECK(endless.status == 1);
  CHECK_THAT(endless.err, Contains("the program doesn't end by itself in 1 s"));
  const Run failing = sweep(folder, {}, {"fails"});
  CHECK(failing.status == 1);
  CHECK_THAT(failing.err, Contains("fails without a failed call, with exit status 7"));
  const Run unused = run_command({"sweep", "--", "true"}, {{"TMPDIR", folder.path().string()}});
  CHECK(unused.status == 1);
  CHECK_THAT(unused.err, Contains("made no call to a backend"));
  const Run absent = run_command({"sweep", "--", "./no-such-program"}, {{"TMPDIR", folder.path().string()}});
  CHECK(absent.status == 1);
  CHECK_THAT(absent.err, Contains("exit status 127"));
}

TEST_CASE("A sweep's folder for temporary files may be named by a relative path") {
  const test::TempDir folder;
  const std::string relative = std::filesystem::relative(folder.path()).string();
  const Run run = run_program("sweep", {"--json", "--every", "5"}, {ANYPLACE_SWEPT, "frees"}, relative);
  INFO(run.out << run.err);
  CHECK(run.status == 0);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("Arguments that the program of a sweep can't find in its own folder are named") {
  const test::TempDir folder;
  const std::string relative = std::filesystem::relative(folder.write("input", "")).string();
  const Run run = sweep(folder, {}, {"fails", relative, folder.file("input"), "not there"});
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("so " + relative + " needs an absolute path; "));
}

TEST_CASE("A sweep that is asked for in a wrong way is refused") {
  const Run status = run_command({"sweep", "--status", "wrong", "--", "true"});
  CHECK(status.status == 2);
  CHECK_THAT(status.err, Contains("there is no status \"wrong\""));
  CHECK(run_command({"sweep"}).status == 2);
  CHECK(run_command({"sweep", "--jobs", "0", "--", "true"}).status == 2);
  const Run rules = run_command({"sweep", "--", "true"}, {{"ANYPLACE_FAULTS", "event_record=internal"}});
  CHECK(rules.status == 2);
  CHECK_THAT(rules.err, Contains("ANYPLACE_FAULTS is set"));
}

}  // namespace sweep_test
