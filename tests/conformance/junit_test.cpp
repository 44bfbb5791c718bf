// SPDX-License-Identifier: Apache-2.0
// The JUnit report: well-formed, and it says the same as the JSON.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support.h"
#include "xml.h"

namespace junit_test {

using namespace anyplace::test;

namespace {

/// A file that is removed with the object.
class Report {
 public:
  Report()
      : path_((std::filesystem::temp_directory_path() / ("anyplace-junit-" + std::to_string(getpid()) + ".xml"))
                  .string()) {}
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  ~Report() { std::filesystem::remove(path_); }

  const std::string& path() const { return path_; }
  Element parse() const {
    std::ifstream in(path_, std::ios::binary);
    return parse_xml({std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()});
  }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("The JUnit report has every case of the JSON report") {
  const Report file;
  const Run run = conform({"--place", "cpu_sim:0", "--json", "--filter", "places", "--junit", file.path()});
  REQUIRE(run.status == 0);
  const Element root = file.parse();
  const auto json = run.json();
  CHECK(root.name == "testsuites");
  CHECK(root.attributes.at("tests") == std::to_string(json.at("cases").get<int>()));
  CHECK(root.attributes.at("failures") == "0");
  CHECK(root.attributes.at("skipped") == std::to_string(json.at("skipped").get<int>()));
  const auto cases = root.all("testcase");
  REQUIRE(cases.size() == json.at("list").size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CHECK(cases[i]->attributes.at("name") == json.at("list")[i].at("name").get<std::string>());
    CHECK(cases[i]->attributes.at("classname") == "anyplace." + json.at("list")[i].at("bullet").get<std::string>());
  }
}

TEST_CASE("The JUnit report shows what failed and why and what was skipped") {
  const Report file;
  const Run run = conform_plugin("crashes", {"--json", "--filter", "peer", "--junit", file.path()});
  CHECK(run.status == 1);
  const Element root = file.parse();
  const auto json = run.json();
  CHECK(root.attributes.at("failures") == std::to_string(json.at("failed").get<int>()));
  const auto failures = root.all("failure");
  REQUIRE(failures.size() == json.at("failed"));
  for (const Element* const one : failures) {
    CHECK(contains(one->attributes.at("message"), "SIGABRT"));
    CHECK((contains(one->text, "disable_peer_access") || contains(one->text, "peer_disable")));
  }
  CHECK(root.all("skipped").size() == json.at("skipped"));
}

TEST_CASE("A longer report that was there before is replaced") {
  const Report file;
  std::ofstream(file.path()) << std::string(1 << 20, 'x');
  CHECK(conform({"--place", "cpu_sim:0", "--filter", "a big fill", "--junit", file.path()}).status == 0);
  CHECK(file.parse().all("testcase").size() == 1);
}

}  // namespace junit_test
