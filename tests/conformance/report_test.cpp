// SPDX-License-Identifier: Apache-2.0
// What the suite's lists and reports say.
#include <catch2/catch.hpp>
#include <set>

#include "support.h"

namespace report_test {

using namespace anyplace::test;

TEST_CASE("The list maps every promise to at least one case and every case to a promise") {
  const Run run = conform({"--list", "--json"});
  REQUIRE(run.status == 0);
  const auto list = run.json();
  std::size_t cases = 0;
  std::set<std::string> ids;
  std::set<std::string> names;
  for (const auto& bullet : list.at("bullets")) {
    INFO(bullet.at("bullet"));
    CHECK(ids.insert(bullet.at("bullet").get<std::string>()).second);
    CHECK(!bullet.at("text").get<std::string>().empty());
    CHECK(!bullet.at("cases").empty());
    cases += bullet.at("cases").size();
    for (const auto& one : bullet.at("cases")) {
      CHECK(names.insert(one.at("group").get<std::string>() + ": " + one.at("name").get<std::string>()).second);
    }
  }
  CHECK(list.at("cases") == cases);
  CHECK(cases >= 300);
  CHECK(ids.size() >= 45);
}

TEST_CASE("The list for people shows each promise above its cases and what they need") {
  const Run run = conform({"--list"});
  CHECK(run.status == 0);
  CHECK(contains(run.out, "streams.wait_event: "));
  CHECK(contains(run.out, "    streams: later work waits for the event  [needs host_functions]\n"));
}

TEST_CASE("A filter chooses by name and group and bullet whatever the case of letters") {
  for (const std::string filter : {"memory.FILLS", "fills: ", "A BIG FILL"}) {
    INFO(filter);
    const Run run = conform({"--place", "cpu_sim:0", "--json", "--filter", filter});
    CHECK(run.status == 0);
    const auto report = run.json();
    CHECK(report.at("cases").get<int>() >= 1);
    CHECK(report.at("cases").get<int>() < 60);
    for (const auto& one : report.at("list")) CHECK(one.at("bullet") == "memory.fills");
  }
}

TEST_CASE("What is excluded doesn't run, and each of several is") {
  const auto names_without = [](const std::vector<std::string>& texts) {
    std::vector<std::string> arguments{"--place", "cpu_sim:0", "--json", "--filter", "memory.fills"};
    for (const std::string& text : texts) arguments.insert(arguments.end(), {"--exclude", text});
    const Run run = conform(arguments);
    INFO(run.out << run.err);
    CHECK(run.status == 0);
    const auto report = run.json();
    std::set<std::string> names;
    for (const auto& one : report.at("list")) names.insert(one.at("name"));
    return names;
  };
  const std::set<std::string> all = names_without({});
  REQUIRE(all.size() >= 3);
  const std::string first = *all.begin(), last = *all.rbegin();
  std::set<std::string> rest = all;
  rest.erase(first);
  CHECK(names_without({first}) == rest);
  rest.erase(last);
  CHECK(names_without({first, last}) == rest);
}

TEST_CASE("The seed is printed and decides the random cases") {
  const std::vector<std::string> graphs{"--place", "cpu_sim:0", "--filter", "random graphs"};
  for (const std::string seed : {"1", "77", "18446744073709551615"}) {
    auto arguments = graphs;
    arguments.insert(arguments.end(), {"--seed", seed});
    const Run run = conform(arguments);
    INFO(run.out << run.err);
    CHECK(run.status == 0);
    CHECK(contains(run.out, "seed " + seed + "\n"));
  }
}

TEST_CASE("The verbose text has a line for each case and the last line is the verdict") {
  const Run run = conform({"--place", "cpu_sim:0", "--filter", "fills", "--verbose"});
  CHECK(run.status == 0);
  CHECK(contains(run.out, "passed  fills: a big fill reaches the last byte"));
  CHECK(run.out.ends_with("cpu_sim:0 conforms\n"));
}

}  // namespace report_test
