// SPDX-License-Identifier: Apache-2.0
// `anyplace devices`: the list is complete and right, and no plugin, whatever it does, keeps it from being made.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "plugin_folder.h"
#include "run_command.h"

namespace devices_test {

using namespace anyplace::test;
using nlohmann::json;

namespace {

/// Enough for a plugin that works on a busy machine; a plugin that hangs takes as long as this.
const std::pair<std::string, std::string> short_probe{"ANYPLACE_PROBE_TIMEOUT", "20"};

std::vector<std::string> places(const json& answer) {
  std::vector<std::string> result;
  for (const json& device : answer.at("devices")) result.push_back(device.at("place"));
  return result;
}

json problem_of(const json& answer, const std::string& backend) {
  for (const json& problem : answer.at("problems")) {
    if (problem.at("backend") == backend) return problem;
  }
  return json();
}

const std::vector<std::string> both{"cpu_sim:0", "cpu_sim:1"};

}  // namespace

TEST_CASE("devices --json lists the two devices of the simulator") {
  const Run run = run_command({"devices", "--json"});
  REQUIRE(run.status == 0);
  CHECK(run.err.empty());
  const json answer = run.json();
  CHECK(places(answer) == both);
  // Backends that were built for vendors whose libraries aren't here have a problem each.
  for (const json& problem : answer.at("problems")) CHECK(problem.at("backend") != "cpu_sim");
}

TEST_CASE("devices lists as many devices as ANYPLACE_CPU_SIM_DEVICES says") {
  const Variables variables{{"ANYPLACE_CPU_SIM_DEVICES", "64"}};
  const std::vector<std::string> listed = places(run_command({"devices", "--json"}, variables).json());
  REQUIRE(listed.size() == 64);
  for (int i = 0; i < 64; ++i) CHECK(listed[static_cast<std::size_t>(i)] == "cpu_sim:" + std::to_string(i));

  const Run text = run_command({"devices"}, variables);
  CHECK(text.status == 0);
  // Twice a heading and a line for each, with a line between; no matrix of so many.
  CHECK(std::count(text.out.begin(), text.out.end(), '\n') == 131);
  CHECK(contains(text.out, "cpu_sim:63"));
}

// In all that takes longer than the limit where it is slow, which is for each answer (child_process.h).
TEST_CASE("devices lists the most devices that a backend may have") {
  const Run run = run_command({"devices", "--json"}, {{"ANYPLACE_CPU_SIM_DEVICES", "4096"}});
  REQUIRE(run.status == 0);
  CHECK(places(run.json()).size() == 4096);
}

TEST_CASE("Each device in JSON has every field") {
  const json device = run_command({"devices", "--json"}).json().at("devices").at(1);
  CHECK(device.at("place") == "cpu_sim:1");
  CHECK(device.at("backend") == "cpu_sim");
  CHECK(device.at("index") == 1);
  CHECK(device.at("name").is_string());
  CHECK(device.at("vendor").is_string());
  CHECK(device.at("total_memory") == 1073741824);
  CHECK(device.at("architecture").is_string());
  CHECK(device.contains("uuid"));
  CHECK(device.contains("pci"));
  const json& capabilities = device.at("capabilities");
  CHECK(std::find(capabilities.begin(), capabilities.end(), "host_functions") != capabilities.end());
  CHECK(device.at("multiprocessors").is_number());
  CHECK(device.at("max_allocation").is_number());
  CHECK(device.at("sub_group_sizes").is_array());
  CHECK(device.at("float64") == true);
  CHECK(device.at("unified_addressing").is_boolean());
  const json& memory = device.at("memory");
  CHECK(memory.at("total") == 1073741824);
  CHECK(memory.at("used").get<std::uint64_t>() + memory.at("free").get<std::uint64_t>() == memory.at("total"));
  // A simulated device is nowhere in the machine.
  CHECK(device.at("numa_node").is_null());
  CHECK(device.at("near_cpus").is_null());
  CHECK(device.at("links") == json::array({{{"place", "cpu_sim:0"}, {"link", "peer"}, {"pci_path", nullptr}}}));
}

TEST_CASE("devices shows memory used and total and driver and address and UUID and links") {
  const Run run = run_command({"devices"});
  REQUIRE(run.status == 0);
  CAPTURE(run.out);
  for (const char* part :
       {"PLACE      NAME ", " MEMORY USED ", " DRIVER\n", "0 B / 1.0 GiB", "PLACE      PCI ADDRESS ", " NUMA ",
        " NEAR CPUS ", " UUID\n", "0000:00:00.0", "  unknown  unknown ", "LINKS      cpu_sim:0  cpu_sim:1\n",
        "cpu_sim:0  self       peer\n", "cpu_sim:1  peer       self\n",
        "\npeer: direct access; host: through the host's memory\n"}) {
    CAPTURE(part);
    CHECK(contains(run.out, part));
  }
}

TEST_CASE("Devices of two backends are linked through the host and a device alone has no matrix") {
  PluginFolder folder;
  folder.add("late_crasher");
  const Run run = run_command({"devices"}, {{"ANYPLACE_BACKEND_PATH", folder.path()}});
  CAPTURE(run.out);
  CHECK(contains(run.out, "late_crasher:0  host       host       self\n"));
  CHECK_FALSE(contains(run_command({"devices"}, {{"ANYPLACE_CPU_SIM_DEVICES", "1"}}).out, "LINKS"));
}

TEST_CASE("The links of more devices than a list has room for are null") {
  const json few = run_command({"devices", "--json"}, {{"ANYPLACE_CPU_SIM_DEVICES", "64"}}).json();
  CHECK(few.at("devices").at(3).at("links").size() == 63);
  const json many = run_command({"devices", "--json"}, {{"ANYPLACE_CPU_SIM_DEVICES", "65"}}).json();
  CHECK(many.at("devices").at(3).at("links").is_null());
  CHECK(contains(run_command({"info", "cpu_sim:3"}, {{"ANYPLACE_CPU_SIM_DEVICES", "65"}}).out,
                 "links:                not asked for: cpu_sim has more than 64 devices\n"));
}

TEST_CASE("What a device can't tell is null") {
  PluginFolder folder;
  folder.add("late_crasher");
  const json answer = run_command({"devices", "--json"}, {{"ANYPLACE_BACKEND_PATH", folder.path()}}).json();
  json device;
  for (const json& listed : answer.at("devices")) {
    if (listed.at("place") == "late_crasher:0") device = listed;
  }
  REQUIRE(device.is_object());
  for (const char* field :
       {"name", "vendor", "total_memory", "architecture", "driver_version", "uuid", "pci", "clock_hz",
        "memory_clock_hz", "memory_bus_bits", "l2_cache_bytes", "max_allocation", "multiprocessors", "float16",
        "float64", "int64_atomics", "unified_addressing", "numa_node", "near_cpus"}) {
    CAPTURE(field);
    CHECK(device.at(field).is_null());
  }
}

TEST_CASE("A plugin that crashes when it is opened is noted and the others are listed") {
  PluginFolder folder;
  folder.add("crasher");
  const Variables variables{{"ANYPLACE_BACKEND_PATH", folder.path()}};
  const Run run = run_command({"devices", "--json"}, variables);
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  CHECK(places(run.json()) == both);
  const json problem = problem_of(run.json(), "crasher");
  CHECK(problem.at("code") == "crashed");
  CHECK(contains(problem.at("text"), "while loading the plugin"));

  const Run text = run_command({"devices"}, variables);
  CHECK(text.status == 0);
  CHECK(contains(text.out, "cpu_sim:1"));
  CHECK(contains(text.err, "crasher: crashed"));
}

TEST_CASE("A plugin that crashes on one device loses only what comes after") {
  PluginFolder folder;
  folder.add("late_crasher");
  const Run run = run_command({"devices", "--json"}, {{"ANYPLACE_BACKEND_PATH", folder.path()}});
  CHECK(run.status == 0);
  CHECK(places(run.json()) == std::vector<std::string>{"cpu_sim:0", "cpu_sim:1", "late_crasher:0"});
  const json problem = problem_of(run.json(), "late_crasher");
  CHECK(problem.at("code") == "crashed");
  CHECK(contains(problem.at("text"), "SIGKILL"));
  CHECK(contains(problem.at("text"), "late_crasher:1"));
}

TEST_CASE("A plugin that hangs is given up and nothing of it is left running") {
  PluginFolder folder;
  folder.add("hanger");
  const std::string mark = "ANYPLACE_TEST_MARK=" + folder.path();
  const Run run =
      run_command({"devices", "--json"},
                  {{"ANYPLACE_BACKEND_PATH", folder.path()}, {"ANYPLACE_TEST_MARK", folder.path()}, short_probe});
  CHECK(run.status == 0);
  CHECK(places(run.json()) == both);
  CHECK(problem_of(run.json(), "hanger").at("code") == "timed_out");
  CHECK(contains(problem_of(run.json(), "hanger").at("text"), "20 s"));
  CHECK(processes_with(mark) == 0);
}

TEST_CASE("A plugin that ends the process is noted and the others are listed") {
  PluginFolder folder;
  folder.add("quitter");
  const Run run = run_command({"devices", "--json"}, {{"ANYPLACE_BACKEND_PATH", folder.path()}});
  CHECK(run.status == 0);
  CHECK(places(run.json()) == both);
  const json problem = problem_of(run.json(), "quitter");
  CHECK(problem.at("code") == "crashed");
  CHECK(contains(problem.at("text"), "exit status 0"));
}

TEST_CASE("A plugin that writes into the report is found out") {
  PluginFolder folder;
  folder.add("scribbler");
  const Run run = run_command({"devices", "--json"}, {{"ANYPLACE_BACKEND_PATH", folder.path()}});
  CHECK(run.status == 0);
  CHECK(places(run.json()) == both);
  CHECK(problem_of(run.json(), "scribbler").at("code") == "garbled");
}

TEST_CASE("What a plugin writes and what its texts hold does no harm to the output") {
  PluginFolder folder;
  folder.add("chatterbox");
  const Variables variables{{"ANYPLACE_BACKEND_PATH", folder.path()}};
  const Run run = run_command({"devices", "--json"}, variables);
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  CHECK(places(run.json()) == std::vector<std::string>{"cpu_sim:0", "cpu_sim:1", "chatterbox:0"});
  CHECK_FALSE(contains(run.out, "CHATTER"));
  const json problem = problem_of(run.json(), "chatterbox");
  CHECK(problem.at("place") == "chatterbox:1");
  CHECK(problem.at("code") == "backend_failed");

  const Run text = run_command({"devices"}, variables);
  CHECK(text.status == 0);
  CHECK_FALSE(contains(text.out, "CHATTER"));
  CHECK_FALSE(contains(text.out, "\x1b"));
  CHECK(contains(text.out, "\\x1b[31mred"));
  // Twice a heading and three devices, with a line between; the links of three with heading and legend.
  CHECK(std::count(text.out.begin(), text.out.end(), '\n') == 15);
}

TEST_CASE("A backend that can't be used takes one short line, and the last line says where to read more") {
  PluginFolder folder;
  folder.add("needs_vendor").add("deserted").add("crasher").add("quitter").add_empty("empty").add_truncated("cut");
  const Run run = run_command({"devices"}, {{"ANYPLACE_BACKEND_PATH", folder.path()}});
  CAPTURE(run.err);
  CHECK(run.status == 0);
  CHECK(std::count(run.out.begin(), run.out.end(), '\n') == 12);  // of the two devices
  for (const char* line :
       {"\nneeds_vendor: no driver (libneeded.so.1)\n", "\ndeserted: no device\n", "\ncrasher: crashed (SIGABRT)\n",
        "\nquitter: crashed (exit status 0)\n", "\nempty: plugin refused\n", "\ncut: plugin refused\n"}) {
    CAPTURE(line);
    CHECK(contains("\n" + run.err, line));
  }
  std::vector<std::string> lines;
  std::istringstream all(run.err);
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  for (const std::string& line : lines) CHECK(line.size() <= 78);
  REQUIRE_FALSE(lines.empty());
  CHECK(contains(lines.back(), "`anyplace doctor`"));
  // Each of the others is of one backend.
  CHECK(std::set<std::string>(lines.begin(), lines.end()).size() == lines.size());
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) CHECK(contains(lines[i], ": "));
}

TEST_CASE("A setting that is wrong is named in the one line") {
  const Run run = run_command({"devices"}, {{"ANYPLACE_CPU_SIM_DEVICES", "many"}});
  CHECK(run.status == 1);
  CHECK(contains("\n" + run.err, "\ncpu_sim: a setting is wrong (ANYPLACE_CPU_SIM_DEVICES)\n"));
}

TEST_CASE("Files that are no plugins are noted and the others are listed") {
  PluginFolder folder;
  folder.add_empty("empty").add_truncated("cut");
  const Run run = run_command({"devices", "--json"}, {{"ANYPLACE_BACKEND_PATH", folder.path()}});
  CHECK(run.status == 0);
  CHECK(places(run.json()) == both);
  CHECK(contains(problem_of(run.json(), "empty").at("text"), folder.file("empty")));
  CHECK(contains(problem_of(run.json(), "cut").at("text"), folder.file("cut")));
}

TEST_CASE("Without any device devices says so and exits 1") {
  const Variables variables{{"ANYPLACE_CPU_SIM_DEVICES", "0"}};
  const Run text = run_command({"devices"}, variables);
  CHECK(text.status == 1);
  CHECK(text.out.empty());
  CHECK(contains(text.err, "no device of any backend"));

  const Run run = run_command({"devices", "--json"}, variables);
  CHECK(run.status == 1);
  CHECK(run.json().at("devices").empty());
  CHECK(problem_of(run.json(), "cpu_sim").at("code") == "no_such_device");
}

TEST_CASE("A backend whose settings are wrong is noted with what is allowed") {
  const Run run = run_command({"devices", "--json"}, {{"ANYPLACE_CPU_SIM_DEVICES", "many"}});
  CHECK(run.status == 1);
  const json problem = problem_of(run.json(), "cpu_sim");
  CHECK(contains(problem.at("text"), "ANYPLACE_CPU_SIM_DEVICES"));
  CHECK(contains(problem.at("text"), "many"));
}

}  // namespace devices_test
