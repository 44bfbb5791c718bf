// SPDX-License-Identifier: Apache-2.0
// `anyplace explore` on a model whose schedules can be counted (programs/explored.cpp): what it finds, how it shows and
// shrinks it, and what it refuses.
#include <signal.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/run_command.h"
#include "support/temp_dir.h"

namespace explore_test {

using anyplace::test::contains;
using anyplace::test::Run;
using anyplace::test::run_command;
using anyplace::test::run_program;
using Catch::Contains;
using nlohmann::json;
using Words = std::vector<std::string>;

namespace {

/// Explores the model in that mode. Its folders are in `folder`.
Run explore(const test::TempDir& folder, const Words& options, const Words& arguments,
            const test::Variables& variables = {}) {
  Words program{ANYPLACE_EXPLORED};
  program.insert(program.end(), arguments.begin(), arguments.end());
  return run_program("explore", options, program, folder.path().string(), variables);
}

json only_failure(const Run& run) {
  INFO(run.out << run.err);
  CHECK(run.status == 1);
  const json failures = run.json().at("failures");
  REQUIRE(failures.size() == 1);
  return failures.front();
}

test::Ended shell(const std::string& line) { return test::Process({"/bin/sh", "-c", line}).end(); }

/// All orders in which the model of `counts` may run, by trying each: the host's calls one after the other, and between
/// them operations that were submitted before. With `by_class` those are one that differ in the order of operations
/// between two calls alone.
std::size_t brute_force(int first, int second, bool by_class) {
  std::set<std::string> orders;
  const int submissions = first + second;
  const std::function<void(int, int, int, std::string)> go_on = [&](int calls, int ran1, int ran2, std::string order) {
    const int submitted1 = std::min(calls, first), submitted2 = std::max(0, std::min(calls, submissions) - first);
    const bool may_return = calls < submissions || (calls == submissions ? ran1 == first : ran2 == second);
    if (calls == submissions + 2) {
      orders.insert(order);
      return;
    }
    const auto mark = [&] { return "(" + std::to_string(ran1) + "," + std::to_string(ran2) + ")"; };
    if (may_return) go_on(calls + 1, ran1, ran2, order + (by_class ? mark() : "c"));
    if (ran1 < submitted1) go_on(calls, ran1 + 1, ran2, order + (by_class ? "" : "1"));
    if (ran2 < submitted2) go_on(calls, ran1, ran2 + 1, order + (by_class ? "" : "2"));
  };
  go_on(0, 0, 0, "");
  return orders.size();
}

}  // namespace

TEST_CASE(
    "Of a program that is right in each schedule explore says so, with what it may have missed, and leaves nothing") {
  const test::TempDir folder;
  const Run run = explore(folder, {"--runs", "100", "--json", "--strategy", "pct:2"}, {"is right"});
  INFO(run.out << run.err);
  CHECK(run.status == 0);
  const json answer = run.json();
  CHECK(answer.at("runs") == 100);
  CHECK(answer.at("schedules") > 1);
  CHECK(answer.at("bound").at("probability_95") == Approx(1 - std::pow(0.05, 0.01)));
  CHECK(answer.at("bound").at("depth_probability") ==
        Approx(1 / (answer.at("actors").get<double>() * answer.at("choices").get<double>())));
  CHECK(answer.at("difference").is_null());
  CHECK(std::filesystem::is_empty(folder.path()));
  // PCT's guarantee is for runs with as many choices as it was told of.
  const Run few = explore(folder, {"--runs", "20", "--strategy", "pct:2:1", "--out", folder.file("out")}, {"is right"});
  CHECK_THAT(few.out, Contains("; of a bug of depth 2 no more is known: a run had ") &&
                          Contains("and pct:2:1 changes its mind among the first 1 alone"));
  CHECK(std::filesystem::is_empty(folder.path()));
  const Run timed = explore(folder, {"--time", "1s", "--json"}, {"is right"});
  CHECK(timed.status == 0);
  CHECK(timed.json().at("runs") >= 1);
}

TEST_CASE("A strategy that draws nothing from a seed has one run, unless more are asked for or calls fail by chance") {
  const test::TempDir folder;
  const auto explored = [&](Words options, const test::Variables& variables = {}) {
    options.insert(options.end(), {"--json", "--fail-fast", "--no-shrink"});
    return explore(folder, options, {"fails with seed 5"}, variables).json();
  };
  for (const char* const strategy : {"round_robin", "lazy", "eager"}) {
    CHECK(explored({"--strategy", strategy}).at("runs") == 1);
  }
  CHECK(explored({"--strategy", "lazy", "--runs", "3"}).at("runs") == 3);
  CHECK(explored({"--strategy", "lazy"}, {{"ANYPLACE_FAULTS", "probability=0.1"}}).at("runs") > 5);
}

TEST_CASE("A failure has its kind, its seed and a line that makes it again, shrunk to the fewest deviations") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"fails", "exit"}, {"fails late", "exit"}, {"crashes", "crash"}, {"deadlocks", "deadlock"}};
  for (const auto& [mode, kind] : cases) {
    INFO(mode);
    const test::TempDir folder;
    const json failure = only_failure(explore(folder, {"--json", "--runs", "50"}, {mode, "two words", "it's"}));
    CHECK(failure.at("kind") == kind);
    CHECK(failure.at("replayed") == true);
    CHECK(failure.at("deviations_before") >= failure.at("deviations").size());
    CHECK(failure.at("deviations").size() >= 1);
    // The host goes on instead of the fill, once for each submission, and then the copy comes before it.
    CHECK(failure.at("deviations").size() == (mode == "fails late" ? 8 : 2));
    for (const char* const line : {"replay", "by_seed"}) {
      const test::Ended again = shell(failure.at(line).get<std::string>());
      INFO(failure.at(line) << again.out);
      CHECK(again.status != 0);
      CHECK_THAT(again.out, Contains("two words\nit's\n1\n") || Contains("deadlock"));
    }
    CHECK(std::filesystem::exists(failure.at("output").get<std::string>() + "/stderr"));
  }
}

TEST_CASE("A failure keeps no deviation of an operation that comes late for another one's sake alone") {
  for (const int seed : {0, 15, 20}) {  // of the last two, random's first failure has "fill y" come late
    const test::TempDir folder;
    const json failure = only_failure(
        explore(folder, {"--json", "--runs", "50", "--seed", std::to_string(seed)}, {"fails behind another fill"}));
    INFO(seed << failure.dump(2));
    CHECK(failure.at("replayed") == true);
    CHECK(failure.at("deviations").size() == 2);
    CHECK(shell(failure.at("replay").get<std::string>()).status == 1);
  }
}

TEST_CASE("The variables of explore's own user mean in a run what they mean without explore") {
  const test::TempDir folder;
  // The hash would make each run another failure, and be its message.
  const json failure =
      only_failure(explore(folder, {"--json", "--runs", "50"}, {"fails"}, {{"ANYPLACE_CPU_SIM_HASH", "1"}}));
  CHECK_THAT(failure.at("message").get<std::string>(), Contains("got 1, which is wrong"));
  // A run has a folder of its own, and a profile's path is of the user's.
  std::ofstream(folder.file("mine.json")) << "{}";
  const std::string relative = std::filesystem::relative(folder.file("mine.json")).string();
  const Run run = explore(folder, {"--runs", "3"}, {"reads its profile"}, {{"ANYPLACE_CPU_SIM_PROFILE", relative}});
  INFO(run.out << run.err);
  CHECK(run.status == 0);
}

TEST_CASE("A failure that only a seed shows is shrunk, replayed and run once more with that seed") {
  const test::TempDir folder;
  const json failure =
      only_failure(explore(folder, {"--json", "--runs", "20", "--out", folder.file("out")}, {"fails with seed 5"}));
  CHECK(failure.at("first_run") == 6);
  CHECK(failure.at("runs") == 1);
  CHECK(failure.at("replayed") == true);
  CHECK(failure.at("deviations").empty());
  CHECK_THAT(failure.at("replay").get<std::string>(), Contains("ANYPLACE_CPU_SIM_SEED=5 "));
  CHECK(shell(failure.at("replay").get<std::string>()).status == 4);
  const std::string report = folder.file("out") + "/failure-1/report";
  const Run again = explore(folder, {"--replay", report}, {"fails with seed 5"});
  CHECK_THAT(again.out, Contains("the same schedule; exit: exit status 4"));
  const Run all = explore(folder, {"--json", "--exhaustive", "--seed", "5"}, {"fails with seed 5"});
  CHECK(all.json().at("failures").at(0).at("plain") == true);
}

TEST_CASE("Failures with other messages are two, and those whose numbers alone differ are one") {
  const test::TempDir folder;
  const Run run = explore(folder, {"--json", "--runs", "200"}, {"fails twice"});
  const json failures = run.json().at("failures");
  INFO(run.out);
  REQUIRE(failures.size() == 2);  // exit status 1 and 2; the line is one but for its number
  CHECK(failures[0].at("message") != failures[1].at("message"));
  const Run fast = explore(folder, {"--json", "--runs", "200", "--fail-fast"}, {"fails twice"});
  CHECK(fast.json().at("failures").size() == 1);
  CHECK(fast.json().at("runs") < 200);
}

TEST_CASE("With --same-output another output than the plain schedule's is a failure, else it isn't") {
  const test::TempDir folder;
  CHECK(explore(folder, {"--runs", "50"}, {"prints"}).status == 0);
  const json failure = only_failure(explore(folder, {"--runs", "50", "--json", "--same-output"}, {"prints"}));
  CHECK(failure.at("kind") == "output");
  CHECK_THAT(failure.at("message").get<std::string>(), Contains("stdout differs"));
}

TEST_CASE("What --same-output can't compare, because it is another one each time, is said") {
  const test::TempDir folder;
  const Run run = explore(folder, {"--runs", "5", "--same-output"}, {"prints its process"});
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("not compared") && Contains("stdout: two runs of the plain schedule"));
  const Run json = explore(folder, {"--runs", "5", "--same-output", "--json"}, {"prints its process"});
  CHECK(json.json().at("not_compared") == nlohmann::json{"stdout"});
}

TEST_CASE("A search that is interrupted says what it found until then, and leaves nothing else") {
  const test::TempDir folder;
  const Run run = explore(folder, {"--jobs", "1", "--json"}, {"fails with seed 5, and interrupts with seed 7"});
  CHECK(run.status == 128 + SIGTERM);
  const json answer = run.json();
  CHECK(answer.at("interrupted") == "SIGTERM");
  CHECK(answer.at("runs") < 1000);
  REQUIRE(answer.at("failures").size() == 1);
  CHECK(answer.at("failures")[0].at("first_run") == 6);
  const std::filesystem::path kept = answer.at("failures")[0].at("output").get<std::string>();
  CHECK(std::filesystem::exists(kept / "report"));
  CHECK(!std::filesystem::exists(kept.parent_path() / "runs"));
}

TEST_CASE("A deviation says which stream's or thread's operation it is") {
  const test::TempDir folder;
  const json failure = only_failure(explore(folder, {"--json", "--runs", "50"}, {"fails"}));
  const json& deviation = failure.at("deviations").at(0);
  CHECK_THAT(deviation.at("what").get<std::string>(), Contains(" of thread 0"));
  CHECK(deviation.at("instead_of") == "fill x of stream 1");
}

TEST_CASE("All schedules are as many as there are, and those of independent operations count once") {
  const std::vector<std::pair<int, int>> sizes{{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 1}};
  for (const auto& [first, second] : sizes) {
    for (const bool shares : {true, false}) {
      const Words model{"counts", std::to_string(first), std::to_string(second), shares ? "one" : "two"};
      INFO(model[1] << " and " << model[2] << " operations, allocations: " << model[3]);
      const test::TempDir folder;
      const Run all = explore(folder, {"--exhaustive", "--no-reduction", "--json"}, model);
      INFO(all.out << all.err);
      CHECK(all.json().at("exhaustive").at("complete") == true);
      CHECK(all.json().at("exhaustive").at("schedules") == brute_force(first, second, false));
      const Run reduced = explore(folder, {"--exhaustive", "--json"}, model);
      CHECK(reduced.json().at("exhaustive").at("schedules") == brute_force(first, second, !shares));
    }
  }
}

TEST_CASE("What is kept of a failure has its choices, its report, and its timeline beside a good one") {
  const test::TempDir folder;
  const json failure =
      only_failure(explore(folder, {"--json", "--runs", "50", "--out", folder.file("out")}, {"fails"}));
  const std::string kept = folder.file("out") + "/failure-1";
  CHECK(failure.at("output") == kept);
  for (const char* const name : {"choices", "report", "stdout", "stderr"})
    CHECK(std::filesystem::exists(kept + "/" + name));
#ifdef ANYPLACE_TOOL_TRACE
  const std::string page = test::read_file(kept + "/failing.html");
  CHECK_THAT(page, Contains("the failing schedule") && Contains("copy x"));
  const std::size_t kinds = page.find("\"kinds\":[");  // what the page has colours for
  REQUIRE(kinds != std::string::npos);
  const std::string known = page.substr(kinds, page.find(']', kinds) - kinds);
  CHECK_THAT(known, Contains("\"copy\"") && !Contains("copy x"));
  CHECK_THAT(test::read_file(kept + "/beside.html"), Contains("good.html"));
#endif
  CHECK(!std::filesystem::exists(folder.file("out") + "/runs"));
  const Run again = explore(folder, {"--out", folder.file("out")}, {"fails"});
  CHECK(again.status == 1);
  CHECK_THAT(again.err, Contains("not an empty folder"));

  // The report is run once more with its program, and with another one.
  const Run same = explore(folder, {"--replay", kept + "/report"}, {"fails"});
  INFO(same.out << same.err);
  CHECK(same.status == 0);
  CHECK_THAT(same.out, Contains("the same schedule; exit: exit status 1: got 1, which is wrong"));
  const Run other = explore(folder, {"--replay", kept + "/report"}, {"counts", "3", "1", "one"});
  CHECK(other.status == 1);
  CHECK_THAT(other.err,
             Contains("diverge: ") && Contains("of the report was choice 0 between continue: submit, fill x"));
  CHECK_THAT(explore(folder, {"--replay", folder.file("none")}, {"fails"}).err, Contains("is no report"));

  // What is told alike of two lines isn't all that differs, and a profile is no property of the program.
  std::string report = test::read_file(kept + "/report");
  const auto replaced = [&](const std::string& text, const std::string& by) {
    REQUIRE(report.find(text) != std::string::npos);
    report.replace(report.find(text), text.size(), by);
    std::ofstream(folder.file("report")) << report;
    return explore(folder, {"--replay", folder.file("report")}, {"fails"}).err;
  };
  CHECK_THAT(replaced("\"begin_ns\":0", "\"begin_ns\":7"), Contains(": its begin_ns was 7, and then 0"));
  CHECK_THAT(replaced("\"mode\"", "\"profile\":\"h100\",\"mode\""),
             Contains("the report's profile is 'h100', and the run's is none (ANYPLACE_CPU_SIM_PROFILE); line "));
}

namespace {

/// Explores a job of two ranks, of which rank 0 is right and ends last, as a launcher does.
Run explore_job(const test::TempDir& folder, const Words& options, const std::string& mode_of_rank_1) {
  const std::string one = "RANK=1 WORLD_SIZE=2 " ANYPLACE_EXPLORED " '" + mode_of_rank_1 + "'";
  const std::string job =
      one + "; status=$?; RANK=0 WORLD_SIZE=2 " ANYPLACE_EXPLORED " 'is right' && test $status = 0 || exit 7";
  return run_program("explore", options, {"/bin/sh", "-c", job}, folder.path().string());
}

}  // namespace

TEST_CASE("Given a job of ranks when a rank other than 0 fails then it is found, and its seed fails each time") {
  const test::TempDir folder;
  const json failure = only_failure(explore_job(folder, {"--json", "--runs", "50"}, "fails"));
  CHECK(failure.at("kind") == "exit");
  CHECK(failure.at("message") == "exit status 7: got 1, which is wrong");
  CHECK(failure.at("replayed") == false);
  for (int i = 0; i < 5; ++i) CHECK(shell(failure.at("replay")).status == 7);

  const Run text = explore_job(folder, {"--runs", "50"}, "fails");
  CHECK_THAT(text.out, Contains("a job of ranks is run again by its seed"));
  CHECK_THAT(text.out, Contains("ANYPLACE_CPU_SIM_STRATEGY=random") && !Contains("STRATEGY=choices"));
}

TEST_CASE("Given a job of ranks when a rank other than 0 is in a deadlock then the message says which and what waits") {
  const test::TempDir folder;
  const json failure = only_failure(explore_job(folder, {"--json", "--runs", "50"}, "deadlocks"));
  CHECK(failure.at("kind") == "deadlock");
  CHECK_THAT(failure.at("message").get<std::string>(), Contains("rank 1: thread 0 waits in synchronize"));
}

TEST_CASE("Given a job of ranks then schedules that differ in another rank than 0 are distinct") {
  const test::TempDir folder;
  const auto schedules = [&](const std::string& mode) -> std::uint64_t {
    return explore_job(folder, {"--json", "--runs", "30"}, mode).json().at("schedules");
  };
  CHECK(schedules("counts' 2 2 'two") > 1);
  const Run all = explore_job(folder, {"--exhaustive"}, "is right");
  CHECK(all.status == 1);
  CHECK_THAT(all.err, Contains("a job of 2 ranks, of which --exhaustive can't try all schedules"));
}

TEST_CASE("What a seed doesn't decide is said") {
  const test::TempDir folder;
  const Run clock = explore(folder, {"--runs", "3"}, {"reads the clock"});
  CHECK_THAT(
      clock.out,
      Contains("this program isn't deterministic: line 2 of the report was choice 0 between continue: submit, fill "));
  CHECK_THAT(explore(folder, {"--runs", "3"}, {"forks"}).out,
             Contains("uncontrolled") && Contains("the child isn't scheduled"));
}

TEST_CASE("A run without an end is a failure, which isn't shrunk") {
  const test::TempDir folder;
  const json failure =
      only_failure(explore(folder, {"--json", "--runs", "20", "--fail-fast", "--timeout", "1"}, {"spins"}));
  CHECK(failure.at("kind") == "hang");
  CHECK_THAT(failure.at("message").get<std::string>(),
             Contains("no end within 1 s; the last choice, ") && Contains("came up in a call of thread 0 and took "));
  const Run never = explore(folder, {"--timeout", "1"}, {"never ends"});
  CHECK(never.status == 1);
  CHECK_THAT(never.out, Contains("no end within 1 s; it came to no choice"));
}

TEST_CASE("A program that fails in the plain schedule is explored no further") {
  const test::TempDir folder;
  const Run run = explore(folder, {"--json"}, {"always fails"});
  const json failure = only_failure(run);
  CHECK(failure.at("plain") == true);
  CHECK(failure.at("deviations").empty());
  CHECK(run.json().at("runs") == 0);
}

TEST_CASE("What can't be explored, and an exploration that is asked for in a wrong way, are refused with the reason") {
  const test::TempDir folder;
  CHECK_THAT(explore(folder, {}, {"uses nothing"}).err, Contains("made no call to cpu_sim"));
  const Run absent = run_command({"explore", "--", "./no-such-program"}, {{"TMPDIR", folder.path().string()}});
  CHECK(absent.status == 1);
  CHECK_THAT(absent.err, Contains("can't start './no-such-program': No such file or directory"));
  const auto refuses = [&](const Words& options, const char* text) {
    const Run run = explore(folder, options, {"is right"});
    INFO(run.err);
    CHECK(run.status == 2);
    CHECK_THAT(run.err, Contains(text));
  };
  refuses({"--strategy", "randm"}, "did you mean 'random'? There are random, pct:D, urw, surw, round_robin, lazy");
  refuses({"--strategy", "pct"}, "takes a depth of 1 or more");
  refuses({"--strategy", "choices:x"}, "choices are no strategy to explore with");
  refuses({"--strategy", "urw", "--exhaustive"}, "no --strategy with it");
  refuses({"--runs", "0"}, "'0' is no whole number from 1 to");
  refuses({"--seed", "-1"}, "'-1' is no whole number from 0 to 18446744073709551615");
  refuses({"--seed", "18446744073709551616"}, "is no whole number from 0 to 18446744073709551615");
  refuses({"--jobs", "many"}, "'many' is no whole number from 1 to 4096");
  refuses({"--replay", ""}, "--replay is empty");
  refuses({"--replay", "report", "--runs", "3"}, "--replay takes the choices of its report, and no --runs");
  refuses({"--time", ""}, "--time is empty");
  refuses({"--time", "soon"}, "it takes a time as 90, 90s, 15m or 2h");
  CHECK(run_command({"explore"}).status == 2);
  const Run seed = run_command({"explore", "--", "true"}, {{"ANYPLACE_CPU_SIM_SEED", "3"}});
  CHECK(seed.status == 2);
  CHECK_THAT(seed.err, Contains("ANYPLACE_CPU_SIM_SEED is set"));
}

}  // namespace explore_test
