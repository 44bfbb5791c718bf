// SPDX-License-Identifier: Apache-2.0
//
// `anyplace explore` finds the bug of each program, and none in its right form; and all schedules of small programs are
// as many as there are. docs/verified/explore.md has a table of what each strategy needs, which `table` makes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/run_command.h"
#include "support/temp_dir.h"
#include "support/turn.h"

namespace schedules_test {

using anyplace::test::Run;
using nlohmann::json;
using Words = std::vector<std::string>;

namespace {

Run explore(const test::TempDir& folder, Words options, const Words& arguments, test::Variables variables = {}) {
  options.insert(options.begin(), "--json");
  Words program{ANYPLACE_SCHEDULES};
  program.insert(program.end(), arguments.begin(), arguments.end());
  return anyplace::test::run_program("explore", options, program, folder.path().string(), std::move(variables));
}

/// The names of the programs whose turn it is, of every fourth one from `part` on of them.
std::vector<std::string> names_of_turn(std::size_t part) {
  std::istringstream lines(test::Process({ANYPLACE_SCHEDULES, "--list"}).end().out);
  std::vector<std::string> names;
  std::size_t number = 0, turns_programs = 0;
  for (std::string line; std::getline(lines, line);) {
    if (test::turn().takes(number++) && turns_programs++ % 4 == part) names.push_back(line.substr(0, line.find('\t')));
  }
  return names;
}

/// The report of a run of the program, and behind it the trace, where that layer is built.
std::string record_of(const std::string& name, const char* form, const char* strategy, int seed) {
  const test::TempDir folder;
  test::Variables variables{{"ANYPLACE_CPU_SIM_MODE", "deterministic"},
                            {"ANYPLACE_CPU_SIM_STRATEGY", strategy},
                            {"ANYPLACE_CPU_SIM_SEED", std::to_string(seed)},
                            {"ANYPLACE_CPU_SIM_REPORT", folder.file("report")}};
  if (ANYPLACE_TRACES) variables.insert({{"ANYPLACE_LAYERS", "trace"}, {"ANYPLACE_TRACE", folder.file("trace")}});
  test::Process({ANYPLACE_SCHEDULES, name, form}, variables).end();
  return test::read_file(folder / "report") + (ANYPLACE_TRACES ? test::read_file(folder / "trace") : "");
}

/// All orders in which the program `counted` can run, by trying each: after each submission, and while the host waits,
/// an operation that was submitted may run. With `by_class` those are one that differ in the order of operations
/// between two steps of the host alone.
class BruteForce {
 public:
  BruteForce(int first, int second, bool by_class) : first_(first), second_(second), by_class_(by_class) {
    submitted({1, 0, 0, ""});
  }
  std::size_t count() const { return orders_.size(); }

 private:
  struct State {
    int calls, ran_first, ran_second;  // So many operations were submitted, and so many of each stream ran.
    std::string order;
  };

  State going_on(State state) const {
    state.order +=
        by_class_ ? "(" + std::to_string(state.ran_first) + "," + std::to_string(state.ran_second) + ")" : "c";
    return state;
  }
  void run_one(const State& state, const std::function<void(State)>& then) const {
    State next = state;
    if (state.ran_first < std::min(state.calls, first_)) {
      ++next.ran_first;
      if (!by_class_) next.order += "1";
      then(next);
    }
    next = state;
    if (state.ran_second < std::max(0, state.calls - first_)) {
      ++next.ran_second;
      if (!by_class_) next.order += "2";
      then(next);
    }
  }
  /// The host is at the end of a submission.
  void submitted(const State& state) {
    run_one(state, [this](const State& next) { submitted(next); });
    State on = going_on(state);
    if (on.calls == first_ + second_) return enter_wait_for_first(on);
    ++on.calls;
    submitted(on);
  }
  // A wait for what is done already returns at once, and is no choice.
  void enter_wait_for_first(const State& state) {
    state.ran_first == first_ ? enter_wait_for_second(state) : wait_for_first(state);
  }
  void wait_for_first(const State& state) {
    run_one(state, [this](const State& next) { wait_for_first(next); });
    if (state.ran_first == first_) enter_wait_for_second(going_on(state));
  }
  void enter_wait_for_second(const State& state) {
    state.ran_second == second_ ? static_cast<void>(orders_.insert(state.order)) : wait_for_second(state);
  }
  void wait_for_second(const State& state) {
    run_one(state, [this](const State& next) { wait_for_second(next); });
    if (state.ran_second == second_) orders_.insert(going_on(state).order);
  }

  int first_, second_;
  bool by_class_;
  std::set<std::string> orders_;
};

/// All orders in which the nodes of the program `graph` can run: before, between or behind the returns of two calls,
/// the launch and the record of an event that the library makes behind it. With `by_class` those are one that differ in
/// the order of nodes between two returns alone.
std::size_t orders_of_graph(int nodes, bool by_class) {
  constexpr int calls = 2;
  std::set<std::string> orders;
  const std::function<void(unsigned, int, const std::string&)> go_on = [&](unsigned ran, int returned,
                                                                           const std::string& order) {
    if (ran + 1 == 1u << nodes && returned == calls) orders.insert(order);
    if (returned < calls) go_on(ran, returned + 1, order + "(" + std::to_string(ran) + ")");
    for (int node = 0; node < nodes; ++node) {
      if ((ran >> node & 1) == 0) go_on(ran | 1u << node, returned, by_class ? order : order + std::to_string(node));
    }
  };
  go_on(0, 0, "");
  return orders.size();
}

}  // namespace

// Chance decided once when a graph ended that was let go while a launch of it was pending.
TEST_CASE("Given a strategy, a seed and any of the programs then two runs leave the same report and the same trace") {
  for (const std::size_t part : {0, 1, 2, 3}) {
    for (const std::string& name : names_of_turn(part)) {
      for (const char* const form : {"wrong", "right"}) {
        for (const char* const strategy : {"random", "pct:3", "urw", "surw"}) {
          const std::string first = record_of(name, form, strategy, 3);
          INFO(name << " " << form << ", " << strategy << ", seed 3");
          CHECK_THAT(first, Catch::Contains("\"end\":1"));
          CHECK((first == record_of(name, form, strategy, 3)));
        }
      }
    }
  }
}

// A case for each fourth of the programs, because all of them take longer than a case may.
TEMPLATE_TEST_CASE_SIG(
    "Explore finds the bug of each program, whose replay fails each time, and none in the right form", "",
    ((std::size_t part), part), 0, 1, 2, 3) {
  const bool is_all = test::turn().is_all();
  for (const std::string& name : names_of_turn(part)) {
    const test::TempDir folder;
    const Run wrong = explore(folder, {"--runs", "2000", "--fail-fast"}, {name, "wrong"});
    INFO(name << ": " << wrong.out << wrong.err);
    CHECK(wrong.status == 1);
    REQUIRE(wrong.json().at("failures").size() == 1);
    const json failure = wrong.json().at("failures").front();
    CHECK(failure.at("message") == "exit status 1: the result is wrong");
    int failed = 0;
    for (int i = 0; i < 20; ++i) {
      failed += test::Process({"/bin/sh", "-c", failure.at("replay").get<std::string>()}).end().status == 1;
    }
    CHECK(failed == 20);
    const Run right = explore(folder, {"--runs", is_all ? "400" : "100"}, {name, "right"});
    INFO(right.out << right.err);
    CHECK(right.status == 0);
    std::printf("%s: found in run %d, %d deviations of %d after %d runs\n", name.c_str(),
                failure.at("first_run").get<int>(), static_cast<int>(failure.at("deviations").size()),
                failure.at("deviations_before").get<int>(), failure.at("shrink_runs").get<int>());
  }
}

TEST_CASE("A report of the layer validate is a failure, in any schedule and in each mode of the layer") {
  for (const char* const mode : {"log", "throw", "abort"}) {
    const test::TempDir folder;
    const Run run = explore(folder, {"--runs", "2"}, {"no_wait", "wrong"},
                            {{"ANYPLACE_LAYERS", "validate"}, {"ANYPLACE_VALIDATE", mode}});
    INFO(mode << ": " << run.out << run.err);
    CHECK(run.status == 1);
    const json failure = run.json().at("failures").at(0);
    CHECK(failure.at("kind") == "report");
    CHECK(failure.at("plain") == true);
    CHECK(failure.at("key").get<std::string>().starts_with("race:fill"));
    CHECK_THAT(failure.at("replay").get<std::string>(), Catch::Contains("ANYPLACE_LAYERS=validate "));
  }
}

TEST_CASE("A replay with another program says where the two diverge") {
  const test::TempDir folder;
  const json failure =
      explore(folder, {"--runs", "2000", "--fail-fast"}, {"no_wait", "wrong"}).json().at("failures").front();
  std::string line = failure.at("replay");
  const std::string arguments = " no_wait wrong";
  line.replace(line.rfind(arguments), arguments.size(), " counted 1 0 1");
  const test::Ended ended = test::Process({"/bin/sh", "-c", line}).end();
  CHECK(ended.status == 0);
  CHECK_THAT(ended.out, Catch::Contains("diverge at the file's deviation s") && Catch::Contains("never came up"));
}

TEST_CASE("All schedules of a small program are as many as a brute force counts") {
  const std::vector<std::pair<int, int>> sizes{{1, 1}, {2, 1}, {1, 2}, {2, 2}, {3, 1}};
  std::size_t number = 0;
  for (const auto& [first, second] : sizes) {
    for (const bool shares : {true, false}) {
      if (!test::turn().takes(number++)) continue;
      const Words program{"counted", std::to_string(first), std::to_string(second), shares ? "1" : "2"};
      INFO(program[1] << " and " << program[2] << " operations of " << program[3] << " allocations");
      const test::TempDir folder;
      const Run all = explore(folder, {"--exhaustive", "--no-reduction"}, program);
      INFO(all.out << all.err);
      CHECK(all.json().at("exhaustive").at("complete") == true);
      CHECK(all.json().at("exhaustive").at("schedules") == BruteForce(first, second, false).count());
      const Run reduced = explore(folder, {"--exhaustive"}, program);
      INFO(reduced.out << reduced.err);
      CHECK(reduced.json().at("exhaustive").at("complete") == true);
      CHECK(reduced.json().at("exhaustive").at("schedules") == BruteForce(first, second, !shares).count());
    }
  }
}

TEST_CASE("All schedules of a graph whose nodes have no order are as many as a brute force counts") {
  CHECK(orders_of_graph(3, false) == 60);  // 3! orders of the nodes, and two returns among them
  CHECK(orders_of_graph(3, true) == 27);   // each node is before, between or behind the returns
  for (const int nodes : {1, 2, 3}) {
    for (const bool shares : {true, false}) {
      const Words program{"graph", std::to_string(nodes), shares ? "1" : "2"};
      INFO(nodes << " nodes, " << (shares ? "one allocation" : "an allocation of each node's own"));
      const test::TempDir folder;
      const Run all = explore(folder, {"--exhaustive", "--no-reduction"}, program);
      INFO(all.out << all.err);
      CHECK(all.json().at("exhaustive").at("complete") == true);
      CHECK(all.json().at("exhaustive").at("schedules") == orders_of_graph(nodes, false));
      const Run reduced = explore(folder, {"--exhaustive"}, program);
      INFO(reduced.out << reduced.err);
      CHECK(reduced.json().at("exhaustive").at("schedules") == orders_of_graph(nodes, !shares));
    }
  }
}

}  // namespace schedules_test
