// SPDX-License-Identifier: Apache-2.0
// `anyplace info PLACE`: all of one device, and clear answers for places that aren't there.
#include <anyplace/backend/abi.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "plugin_folder.h"
#include "run_command.h"

namespace info_test {

using namespace anyplace::test;
using nlohmann::json;

TEST_CASE("info shows a device and its plugin") {
  const Run run = run_command({"info", "cpu_sim:0"});
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  CHECK(run.out.starts_with("cpu_sim:0\n"));
  CHECK(contains(run.out, "1.0 GiB (1073741824 bytes)"));
  CHECK(contains(run.out, "libanyplace_backend_cpu_sim.so"));
  CHECK(contains(run.out, "ABI:                  1.0"));
  CHECK(contains(run.out, "numa node:            unknown\n"));
  CHECK(contains(run.out, "near cpus:            unknown\n"));
  CHECK(contains(run.out, "link to cpu_sim:1:    peer access\n"));
  CHECK(contains(run.out, "memory, used:         0 bytes\n"));
  CHECK(contains(run_command({"info", "cpu_sim:0"}, {{"ANYPLACE_CPU_SIM_DEVICES", "1"}}).out,
                 "links:                none: it is the only device of cpu_sim\n"));
}

TEST_CASE("info names every capability as present or absent") {
  const json answer = run_command({"info", "cpu_sim:1", "--json"}).json();
  std::set<std::string> named;
  for (const json& name : answer.at("capabilities")) named.insert(name);
  for (const json& name : answer.at("absent_capabilities")) CHECK(named.insert(name).second);
  std::size_t capabilities = 0;
#define COUNT(upper, lower, bit, text) ++capabilities;
  ANYPLACE_CAPABILITY_LIST(COUNT)
#undef COUNT
  CHECK(named.size() == capabilities);
  CHECK(named.count("device_reset") == 1);

  const Run text = run_command({"info", "cpu_sim:1"});
  for (const std::string& name : named) {
    CAPTURE(name);
    CHECK(contains(text.out, name));
  }
  CHECK(contains(text.out, "  yes  timed_events"));
}

TEST_CASE("info shows what the vendor tells of the device and what he can't as unknown") {
  const Run run = run_command({"info", "cpu_sim:0"});
  CHECK(contains(run.out, "64-bit floats:        yes"));
  CHECK(contains(run.out, "multiprocessors:"));
  PluginFolder folder;
  folder.add("late_crasher");
  const Run unknown = run_command({"info", "late_crasher:0"}, {{"ANYPLACE_BACKEND_PATH", folder.path()}});
  for (const char* field : {"clock", "memory clock", "sub-group sizes", "64-bit atomics"}) {
    const std::string line =
        "  " + std::string(field) + ":" + std::string(21 - std::string(field).size(), ' ') + "unknown";
    CAPTURE(line);
    CHECK(contains(unknown.out, line));
  }
}

TEST_CASE("info says the same of a device as devices does") {
  const json listed = run_command({"devices", "--json"}).json().at("devices").at(1);
  const json shown = run_command({"info", "cpu_sim:1", "--json"}).json();
  for (const auto& [field, value] : listed.items()) {
    CAPTURE(field);
    CHECK(shown.at(field) == value);
  }
  CHECK(shown.at("memory").at("total") == listed.at("total_memory"));
  CHECK(shown.at("plugin").at("name") == "cpu_sim");
  CHECK(shown.at("plugin").at("abi").at("major") == 1);
}

TEST_CASE("info takes aliases and selectors and auto") {
  CHECK(run_command({"info", "custom_cpu:1", "--json"}).json().at("place") == "cpu_sim:1");
  CHECK(run_command({"info", "cpu_sim", "--json"}).json().at("place") == "cpu_sim:0");
  CHECK(run_command({"info", "auto", "--json"}).json().at("place") == "cpu_sim:0");
  const json second = run_command({"info", "cpu_sim:1", "--json"}).json();
  const std::string by_uuid = "cpu_sim:uuid=" + second.at("uuid").get<std::string>();
  CHECK(run_command({"info", by_uuid, "--json"}).json().at("place") == "cpu_sim:1");
  const std::string by_pci = "cpu_sim:pci=" + second.at("pci").get<std::string>();
  CHECK(run_command({"info", by_pci, "--json"}).json().at("place") == "cpu_sim:1");
}

TEST_CASE("A device that is not there is refused with those that are") {
  const Run run = run_command({"info", "cpu_sim:9"});
  CHECK(run.status == 1);
  CHECK(run.out.empty());
  CHECK(contains(run.err, "no_such_device"));
  CHECK(contains(run.err, "cpu_sim:0"));
  CHECK(contains(run.err, "cpu_sim:1"));
}

TEST_CASE("A refusal says what is wrong, what would be right and where to look, on a line each") {
  for (const std::string place : {"cpu_sim:9", "cpu_sin:0", "cpu_sim:-1", "cpu_sim:uuid=SIM-1"}) {
    const Run run = run_command({"info", place});
    CAPTURE(place, run.err);
    std::vector<std::string> lines;
    std::istringstream all(run.err);
    for (std::string line; std::getline(all, line);) lines.push_back(line);
    REQUIRE(lines.size() == 3);
    CHECK(lines[0].starts_with("anyplace info: "));
    CHECK(contains(lines[0], place));
    CHECK(lines[1].starts_with("  "));
    CHECK(lines[2].starts_with("  "));
    CHECK(contains(lines[2], "`anyplace "));
    // The place is named once; the rest is what there is instead.
    CHECK_FALSE(contains(run.err.substr(run.err.find(place) + place.size()), place));
    for (const std::string& line : lines) CHECK_FALSE(contains(line, "Device::Device"));
  }
}

TEST_CASE("A backend that is not there is refused with the name that was probably meant") {
  const Run run = run_command({"info", "cpu_sin:0"});
  CHECK(run.status == 1);
  CHECK(run.out.empty());
  CHECK(contains(run.err, "no_such_backend"));
  CHECK(contains(run.err, "did you mean \"cpu_sim\""));
}

TEST_CASE("With --json a refusal is JSON too") {
  const Run run = run_command({"info", "cpu_sim:9", "--json"});
  CHECK(run.status == 1);
  CHECK(run.err.empty());
  const json error = run.json().at("error");
  CHECK(error.at("code") == "no_such_device");
  CHECK(error.at("place") == "cpu_sim:9");
  CHECK(error.at("operation").is_string());
  CHECK(contains(error.at("text"), "cpu_sim:1"));
  CHECK(error.at("vendor_code").is_null());
  CHECK(error.at("memory").is_null());
}

TEST_CASE("A text that is no place is a usage error that says what is allowed") {
  for (const std::string place : {"", "cpu_sim:", "cpu_sim:-1", "CPU_SIM:0", " cpu_sim", "cpu_sim:2147483648"}) {
    CAPTURE(place);
    const Run run = run_command({"info", place});
    CHECK(run.status == 2);
    CHECK(run.out.empty());
    CHECK(contains(run.err, "invalid_argument"));
  }
  const Run json_run = run_command({"info", "--json", "cpu_sim:00"});
  CHECK(json_run.status == 2);
  CHECK(json_run.json().at("error").at("code") == "invalid_argument");
}

TEST_CASE("A text of a hundred thousand bytes gets an answer of a few lines") {
  const Run run = run_command({"info", std::string(100000, 'x')});
  CHECK(run.status == 2);
  CHECK(run.err.size() < 2000);
}

TEST_CASE("A place whose plugin can't be used is refused with the reason") {
  PluginFolder folder;
  folder.add("needs_vendor");
  const Run run = run_command({"info", "needs_vendor:0"}, {{"ANYPLACE_BACKEND_PATH", folder.path()}});
  CHECK(run.status == 1);
  CHECK(contains(run.err, "libneeded.so.1"));
  CHECK(contains(run.err, folder.file("needs_vendor")));
}

TEST_CASE("info of one backend opens no other plugin") {
  PluginFolder folder;
  folder.add("crasher", "cuda").add("crasher", "aaa").add("hanger", "hip").add("quitter");
  const std::string trace = folder.path() + "/loader";
  const Run run =
      run_command({"info", "cpu_sim:0"},
                  {{"ANYPLACE_BACKEND_PATH", folder.path()}, {"LD_DEBUG", "files"}, {"LD_DEBUG_OUTPUT", trace}});
  REQUIRE(run.status == 0);
  std::string loads;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (!entry.path().string().starts_with(trace + ".")) continue;
    std::ifstream file(entry.path());
    loads.append(std::istreambuf_iterator<char>(file), {});
  }
  CHECK(contains(loads, "libanyplace_backend_cpu_sim.so"));
  for (const char* other : {"cuda", "aaa", "hip", "quitter"}) {
    CAPTURE(other);
    CHECK_FALSE(contains(loads, std::string("libanyplace_backend_") + other));
  }
}

}  // namespace info_test
