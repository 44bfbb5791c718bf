// SPDX-License-Identifier: Apache-2.0
// `anyplace top` as a program: what it prints on a pipe, what it refuses, and a session on a terminal.
#include <csignal>

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "plugin_folder.h"
#include "run_command.h"

namespace top_test {

using namespace anyplace::test;
using nlohmann::json;

namespace {

std::vector<std::string> top(const std::vector<std::string>& options, const std::string& place = "cpu_sim") {
  std::vector<std::string> arguments{"top", "--place", place};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return arguments;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

/// Checks that it is refused as a wrong command line, with both texts, and shows nothing.
void refused(const std::vector<std::string>& arguments, const std::string& wrong, const std::string& right) {
  CAPTURE(arguments);
  const Run run = run_command(arguments);
  CHECK(run.status == 2);
  CHECK(run.out.empty());
  CAPTURE(run.err);
  CHECK(contains(run.err, wrong));
  CHECK(contains(run.err, right));
}

}  // namespace

TEST_CASE("On a pipe top prints once without control codes") {
  const Run run = run_command(top({}));
  CHECK(run.status == 0);
  CAPTURE(run.out, run.err);
  CHECK(run.out.starts_with("anyplace top  "));
  for (const char* part : {"\nPLACE ", "\ncpu_sim:0 ", "\ncpu_sim:1 ", "1.0 GiB"}) CHECK(contains(run.out, part));
  CHECK(std::none_of(run.out.begin(), run.out.end(), [](char c) { return c != '\n' && c < ' ' && c >= 0; }));
}

TEST_CASE("Without places top shows the devices of every backend that can be used") {
  const Run run = run_command({"top", "--once", "--json"});
  CHECK(run.status == 0);
  const json devices = run.json().at("devices");
  REQUIRE(devices.size() == 2);
  CHECK(devices.at(1).at("place") == "cpu_sim:1");
}

TEST_CASE("top --once --json is one object with each device's figures") {
  const Run run = run_command(top({"--once", "--json"}, "cpu_sim:1"));
  REQUIRE(run.status == 0);
  CHECK(run.err.empty());
  REQUIRE(lines_of(run.out).size() == 1);
  const json answer = run.json();
  CHECK(answer.at("time").get<std::string>().ends_with("Z"));
  REQUIRE(answer.at("devices").size() == 1);
  const json& device = answer.at("devices").at(0);
  CHECK(device.at("place") == "cpu_sim:1");
  CHECK(device.at("name") == "anyplace CPU simulator");
  CHECK(device.at("problem").is_null());
  CHECK(device.at("memory_total_bytes") == 1073741824);
  CHECK(device.at("memory_used_bytes") == 0);
  CHECK(device.at("temperature_celsius").is_null());
}

TEST_CASE("top --count writes so many objects and CSV has one heading") {
  const std::vector<std::string> objects =
      lines_of(run_command(top({"--count", "3", "--interval", "0.1", "--json"})).out);
  REQUIRE(objects.size() == 3);
  for (const std::string& object : objects) CHECK(json::parse(object).at("devices").size() == 2);
  const std::vector<std::string> lines = lines_of(run_command(top({"--count", "2", "--interval", "0.1", "--csv"})).out);
  REQUIRE(lines.size() == 5);
  CHECK(lines[0].starts_with("time,place,"));
  CHECK(contains(lines[1], ",cpu_sim:0,"));
  CHECK(contains(lines[4], ",cpu_sim:1,"));
}

TEST_CASE("An interval that is no number of seconds from a tenth to an hour is refused with what would be right") {
  for (const std::string interval : {"0", "-1", "soon", "1e9", "nan", "inf", "0.05", "3601", "1s", "", " 1"}) {
    refused(top({"--once", "--interval=" + interval}), interval.empty() ? "--interval" : "'" + interval + "'",
            interval.empty() ? "" : "0.1 to 3600");
  }
}

TEST_CASE("An unknown order is refused with those that there are") {
  refused(top({"--once", "--sort", "colour"}), "colour", "utilization");
  CHECK(run_command(top({"--once", "--sort", "memory"})).status == 0);
}

TEST_CASE("A place that is none or isn't there is refused as info refuses it") {
  refused(top({"--once"}, "CPU_SIM:0"), "CPU_SIM", "`anyplace ");
  refused(top({"--once"}, "cpu_sim:0,,cpu_sim:1"), "anyplace top: ", "`anyplace ");
  refused(top({"--once"}, ""), "anyplace top: --place is ''", "it takes places");
  for (const std::string place : {"cpu_sim:9", "cpu_sin:0", "cpu_sin", "cpu_sim:0,cpu_sim:9"}) {
    CAPTURE(place);
    const Run run = run_command(top({"--once"}, place));
    CHECK(run.status == 1);
    CHECK(run.out.empty());
    CHECK(run.err.starts_with("anyplace top: "));
    CHECK(contains(run.err, "cpu_sim"));
  }
  const Run twice = run_command(top({"--once", "--json"}, "cpu_sim:1,cpu_sim,cpu_sim:1"));
  CHECK(twice.json().at("devices").size() == 2);
}

TEST_CASE("JSON and CSV at once are refused and so is a count of none") {
  refused(top({"--once", "--json", "--csv"}), "--json and --csv", "one of them");
  for (const char* const none : {"0", "-1", "18446744073709551617", "1.5", "", "010", "0x10", "3 "}) {
    refused(top({"--count", none}), std::string("--count is '") + none + "'", "from 1 on");
  }
  refused(top({"--count", "2", "--once"}), "--count", "--once");
  refused({"top", "--everything"}, "--everything", "usage: anyplace top [option...] [--json]");
}

TEST_CASE("Without a device top says so") {
  const Run run = run_command({"top", "--once"}, {{"ANYPLACE_CPU_SIM_DEVICES", "0"}});
  CHECK(run.status == 1);
  CHECK(run.out.empty());
  CHECK(contains(run.err, "no device of any backend"));
}

TEST_CASE("A device that is lost between two samples says so and the others go on") {
  PluginFolder folder;
  folder.add("vanisher");
  const Variables variables{{"ANYPLACE_BACKEND_PATH", folder.path()}};
  const std::vector<std::string> twice{"--count", "2", "--interval", "0.1"};
  std::vector<std::string> in_json = twice;
  in_json.emplace_back("--json");
  const Run run = run_command(top(in_json, "vanisher"), variables);
  CHECK(run.status == 0);
  const std::vector<std::string> objects = lines_of(run.out);
  REQUIRE(objects.size() == 2);
  const json before = json::parse(objects[0]).at("devices");
  const json after = json::parse(objects[1]).at("devices");
  REQUIRE(after.size() == 2);
  CHECK(before.at(1).at("problem").is_null());
  CHECK(before.at(1).at("memory_used_bytes") == 4096);
  CHECK(contains(after.at(1).at("problem"), "lost: "));
  CHECK(contains(after.at(1).at("problem"), "it fell off the bus"));
  CHECK(after.at(1).at("memory_used_bytes").is_null());
  CHECK(after.at(0).at("problem").is_null());
  CHECK(after.at(0).at("memory_used_bytes") == 4096);
  CHECK(contains(run_command(top(twice, "vanisher"), variables).out, "\nvanisher:1  lost: "));
}

TEST_CASE("A plugin that crashes is left out and said so") {
  PluginFolder folder;
  folder.add("late_crasher");
  const Run run = run_command({"top", "--once"}, {{"ANYPLACE_BACKEND_PATH", folder.path()}});
  CHECK(run.status == 0);
  CHECK(contains(run.out, "\ncpu_sim:1 "));
  CHECK(contains("\n" + run.err, "\nlate_crasher: crashed (SIGKILL)\n"));
  CHECK(contains(run.err, "`anyplace doctor`"));
}

TEST_CASE("A reader that goes away ends top quietly") {
  for (const char* form : {"--json", "--csv", "--sort=place"}) {
    const Run run = run_command(top({"--interval", "0.1", form}), {}, Output::broken_pipe);
    CAPTURE(form);
    CHECK(run.status == 0);
    CHECK(run.err.empty());
  }
  const Output output = GENERATE(Output::full, Output::closed);
  const Run run = run_command(top({"--json"}), {}, output);
  CHECK(run.status == 1);
  CHECK(contains(run.err, "can't write to standard output"));
}

TEST_CASE("A table on a terminal is as wide as the terminal") {
  for (const unsigned columns : {20u, 80u, 200u}) {
    const Run run = run_on_terminal(top({"--once"}), {{"NO_COLOR", "1"}}, columns);
    CAPTURE(columns, run.out);
    CHECK(run.status == 0);
    CHECK_FALSE(contains(run.out, "\x1b"));
    for (const std::string& line : lines_of(run.out)) CHECK(line.size() <= columns);
    CHECK(contains(run.out, "\ncpu_sim:0 "));
  }
  CHECK(contains(run_on_terminal(top({"--once"})).out, "\x1b["));
}

TEST_CASE("A terminal that can't be written all over has the table again and again") {
  for (const char* kind : {"dumb", "no-such-terminal"}) {
    const Run run = run_on_terminal(top({"--interval", "0.1"}), {{"TERM", kind}, {"NO_COLOR", "1"}}, 80,
                                    {{"\ncpu_sim:1 "}, {"\ncpu_sim:1 ", "", 0, SIGTERM}});
    CAPTURE(kind, run.out);
    CHECK(run.status == 128 + SIGTERM);
    CHECK(contains(run.out, "prints its table again and again"));
  }
}

#ifdef ANYPLACE_TOOL_CURSES
namespace {

const std::string enter_full_screen = "\x1b[?1049h";
const std::string leave_full_screen = "\x1b[?1049l";

}  // namespace

TEST_CASE("On a terminal keys sort and filter and q leaves it as it was") {
  const Run run = run_on_terminal(top({"--interval", "3600"}), {}, 80,
                                  {{"by place", "s"}, {"utilization", "/"}, {"filter:", "abc\r"}, {"Escape", "q"}});
  CAPTURE(run.out);
  CHECK(run.status == 0);
  const std::size_t enter = run.out.find(enter_full_screen);
  const std::size_t leave = run.out.find(leave_full_screen);
  REQUIRE(enter != std::string::npos);
  REQUIRE(leave != std::string::npos);
  CHECK(enter < run.out.find("anyplace top"));
  CHECK(run.out.find("anyplace top", leave) == std::string::npos);
}

TEST_CASE("A terminal that gets another width is drawn anew") {
  const Run run = run_on_terminal(top({"--interval", "3600"}), {}, 20,
                                  {{"cpu_sim:1", "", 80}, {"MEMORY", "", 200}, {"CPU simulator", "q"}});
  CAPTURE(run.out);
  CHECK(run.status == 0);
  CHECK(contains(run.out, leave_full_screen));
}

TEST_CASE("A signal that ends top leaves the terminal as it was") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const Run run = run_on_terminal(top({"--interval", "3600"}), {}, 80, {{"cpu_sim:1", "", 0, signal}});
    CAPTURE(signal, run.out);
    CHECK(run.status == 128 + signal);
    CHECK(contains(run.out, leave_full_screen));
  }
}

TEST_CASE("NO_COLOR is followed on the full screen") {
  const std::vector<Step> quit{{"cpu_sim:1", "q"}};
  CHECK(contains(run_on_terminal(top({"--interval", "3600"}), {}, 80, quit).out, "\x1b[36m"));
  CHECK_FALSE(contains(run_on_terminal(top({"--interval", "3600"}), {{"NO_COLOR", "1"}}, 80, quit).out, "\x1b[36m"));
}
#endif

}  // namespace top_test
