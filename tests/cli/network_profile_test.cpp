// SPDX-License-Identifier: Apache-2.0
// The profiles of networks: those that come with the command, and what is refused, with its line.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/network_links.h"
#include "tools/network_profile.h"

namespace network_profile_test {

using namespace anyplace::tool;
using Catch::Contains;
using Catch::Matchers::StartsWith;

namespace {

const std::string good = R"({
  "anyplace_network_profile": 1,
  "name": "good",
  "description": "made up",
  "sources": {"here": "made up"},
  "devices_per_machine": {"value": 4, "source": "here"},
  "nics_per_machine": {"value": 2, "source": "here"},
  "device_bytes_per_second": {"value": 1e11, "source": "here"},
  "nic_bytes_per_second": {"value": 1e10, "source": "here"},
  "levels": [
    {"machines": {"value": 2, "source": "here"}, "uplink_bytes_per_second": {"value": 1e10, "source": "here"}},
    {"machines": {"value": 8, "source": "here"}, "uplink_bytes_per_second": {"value": 1e10, "source": "here"}}
  ]
})";

std::string with(const std::string& from, const std::string& to) {
  std::string text = good;
  text.replace(text.find(from), from.size(), to);
  return text;
}

std::string text_of(const std::string& path) {
  std::ifstream file(ANYPLACE_SOURCE_ROOT "/" + path);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Checks that the schema has the keys of the profile and of its levels.
void check_keys(const std::string& text) {
  const nlohmann::json schema = nlohmann::json::parse(text_of("docs/network.schema.json"));
  const nlohmann::json profile = nlohmann::json::parse(text);
  for (const auto& [key, value] : profile.items()) CHECK(schema["properties"].contains(key));
  if (!profile.contains("levels")) return;
  for (const nlohmann::json& level : profile["levels"]) {
    for (const auto& [key, value] : level.items()) CHECK(schema["$defs"]["level"]["properties"].contains(key));
  }
}

}  // namespace

TEST_CASE("The networks that come with the command are read") {
  REQUIRE(network_texts().size() == 3);
  for (const NetworkText& each : network_texts()) {
    CAPTURE(each.name);
    const NetworkProfile profile = load_network_profile(each.name);
    CHECK(profile.name == each.name);
    CHECK(profile.nic_bytes_per_second > 0);
    check_keys(each.text);
  }
  const NetworkProfile dgx = load_network_profile("dgx_h100");
  CHECK(dgx.devices_per_machine == 8);
  CHECK(dgx.nic_bytes_per_second == 50e9);  // 400 Gb/s
  REQUIRE(dgx.levels.size() == 1);
  // It is a full fat tree: what leaves a unit is what its NICs have.
  CHECK(dgx.levels[0].uplink_bytes_per_second == dgx.levels[0].machines * dgx.nics_per_machine * 50e9);
}

TEST_CASE("A network's file that is right gives its figures, and the rest is as the documentation says") {
  const NetworkProfile profile = parse_network_profile(good, "good.json");
  CHECK(profile.devices_per_machine == 4);
  CHECK(profile.nics_per_machine == 2);
  CHECK(profile.levels.size() == 2);
  CHECK(profile.levels[1].machines == 8);
  CHECK(profile.device_latency_ns == 0);
  CHECK(profile.pair_bytes_per_second == 0);
  CHECK(profile.memory_bytes_per_second == 0);
  check_keys(good);
}

TEST_CASE("The network's file that the documentation prints is right") {
  const std::string page = text_of("docs/network.md");
  const std::size_t begin = page.find("\n    {\n"), end = page.find("\n    }\n", begin);
  REQUIRE(end != std::string::npos);
  const std::string text = page.substr(begin, end + 6 - begin);
  CHECK(parse_network_profile(text, "network.md").name == "lab");
  check_keys(text);
}

TEST_CASE("A network's file that is wrong is refused with its line and what would be right") {
  const auto refused = [](const std::string& text, const std::string& problem) {
    CAPTURE(text);
    CHECK_THROWS_WITH(parse_network_profile(text, "bad.json"), StartsWith("bad.json:") && Contains(problem));
  };
  refused("{\n\"a\": ", ":2: this is no JSON");
  refused("[]", ":1: a network's profile begins with \"anyplace_network_profile\": 1");
  refused(with("_profile\": 1", "_profile\": 2"), "begins with \"anyplace_network_profile\": 1");
  refused(with("\"value\": 1e10", "\"value\": 0"), ":9: \"nic_bytes_per_second\" is 0; it has to be more than 0");
  refused(with("\"value\": 1e10", "\"value\": -5"), "\"nic_bytes_per_second\" is -5; it has to be more than 0");
  refused(with("\"value\": 1e10", "\"value\": \"fast\""), "\"nic_bytes_per_second\" has no number \"value\"");
  refused(with("{\"value\": 1e10, \"source\": \"here\"}", "1e10"), "\"nic_bytes_per_second\" has no number \"value\"");
  refused(with("{\"value\": 1e10, \"source\": \"here\"}", "{\"value\": 1e10}"),
          ":9: \"nic_bytes_per_second\" has no source");
  refused(with("{\"value\": 1e10, \"source\": \"here\"}", "{\"value\": 1, \"source\": \"there\"}"), "has no source");
  refused(with("{\"value\": 1e10, \"source\": \"here\"}", "{\"value\": 1, \"sauce\": \"here\"}"), "has \"sauce\"");
  refused(with("\"nic_bytes", "\"nik_bytes"), "the figure \"nic_bytes_per_second\" is missing");
  refused(with("\"name\": \"good\"", "\"name\": 5"), "the text \"name\" is missing");
  refused(with("\"name\": \"good\"", "\"name\": \"good\", \"speed\": 5"),
          "there is no key \"speed\"; the figures are devices_per_machine, nics_per_machine");
  refused(with("\"value\": 4,", "\"value\": 4.5,"), "it is a whole number up to 4096");
  refused(with("\"value\": 4,", "\"value\": 3,"), "3 devices can't share 2 NICs equally");
  refused(with("{\"here\": \"made up\"}", "{\"here\": \"made up\", \"there\": \"x\"}"),
          ":5: no figure is of the source \"there\"");
  refused(with("{\"here\": \"made up\"}", "{\"here\": 5}"), "the source \"here\" is no text");
  refused(with("{\"here\": \"made up\"}", "[]"), "\"sources\" is an object of texts");
  refused(with("\"value\": 8,", "\"value\": 3,"), "a group of 3 machines can't be made of groups of 2");
  refused(with("[\n", "5, \"x\": [\n"), "\"levels\" is a list of objects");
  refused(with("\"uplink_bytes", "\"uplinks_bytes"), "the figure \"uplink_bytes_per_second\" is missing");
}

TEST_CASE("A name that is no network's tells the known ones, and a file that can't be read why") {
  CHECK_THROWS_WITH(load_network_profile("h100"),
                    Contains("there is no network's profile \"h100\"; they are dgx_h100, ethernet_25g, p4d"));
  CHECK_THROWS_WITH(load_network_profile("./none.json"), Contains("./none.json can't be read: No such file"));
}

TEST_CASE("A network has no more levels of switches than a way has room for") {
  NetworkProfile profile = parse_network_profile(good, "good.json");
  while (profile.levels.size() <= NetworkLinks::most_levels) profile.levels.push_back(profile.levels.back());
  CHECK_THROWS_WITH(NetworkLinks(profile, {2, 4}), Contains("levels of switches; there are 5 at most"));
}

}  // namespace network_profile_test
