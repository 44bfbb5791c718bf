// SPDX-License-Identifier: Apache-2.0
// `anyplace doctor`: every plugin file with what becomes of it, why, and what to do.
#include <anyplace/plugins.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "plugin_folder.h"
#include "run_command.h"
#include "support/temp_dir.h"

namespace doctor_test {

using namespace anyplace::test;
using nlohmann::json;

namespace {

json plugin_at(const json& answer, const std::string& path) {
  for (const json& plugin : answer.at("plugins")) {
    if (plugin.at("path") == path) return plugin;
  }
  FAIL("doctor doesn't list " << path << " in " << answer.dump(2));
  return json();
}

json diagnosis(const PluginFolder& folder, const Variables& more = {}) {
  Variables variables{{"ANYPLACE_BACKEND_PATH", folder.path()}};
  variables.insert(more.begin(), more.end());
  return run_command({"doctor", "--json"}, variables).json();
}

}  // namespace

TEST_CASE("doctor finds the simulator in order and exits 0") {
  const Run run = run_command({"doctor", "--json"});
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  const json answer = run.json();
  CHECK(answer.at("any_device") == true);
  CHECK(answer.at("auto").at("place") == "cpu_sim:0");
  CHECK(answer.at("raised_privileges") == false);
  CHECK(contains(answer.at("library"), "libanyplace.so"));
  const json plugin = plugin_at(answer, ANYPLACE_CPU_SIM_PLUGIN);
  CHECK(plugin.at("state") == "accepted");
  CHECK(plugin.at("loads") == true);
  CHECK(plugin.at("devices") == json{"cpu_sim:0", "cpu_sim:1"});
  CHECK(plugin.at("abi") == json{{"major", 1}, {"minor", 0}});
}

TEST_CASE("doctor says for people what it says in JSON") {
  const Run run = run_command({"doctor"});
  CHECK(run.status == 0);
  CHECK(contains(run.out, "cpu_sim: accepted"));
  CHECK(contains(run.out, ANYPLACE_CPU_SIM_PLUGIN));
  CHECK(contains(run.out, "2: cpu_sim:0, cpu_sim:1"));
  CHECK(contains(run.out, "gpu -> cuda"));
}

TEST_CASE("doctor names the known backends that have no plugin") {
  // Which of them were built depends on the machine's headers.
  const std::vector<std::string> there = anyplace::backend_names();
  const json missing = run_command({"doctor", "--json"}).json().at("missing");
  const Run run = run_command({"doctor"});
  for (const std::string name : {"cuda", "hip", "levelzero", "cpu_sim"}) {
    CAPTURE(name);
    const bool is_there = std::find(there.begin(), there.end(), name) != there.end();
    CHECK((std::find(missing.begin(), missing.end(), name) == missing.end()) == is_there);
    CHECK(contains(run.out, "  " + name + ": no plugin is installed\n") != is_there);
  }
}

TEST_CASE("doctor exits 1 when no backend has a device") {
  const Run run = run_command({"doctor", "--json"}, {{"ANYPLACE_CPU_SIM_DEVICES", "0"}});
  CHECK(run.status == 1);
  CHECK(run.json().at("any_device") == false);
  CHECK(run.json().at("auto").at("place").is_null());
  const json plugin = plugin_at(run.json(), ANYPLACE_CPU_SIM_PLUGIN);
  CHECK(plugin.at("state") == "accepted");
  CHECK(plugin.at("advice").is_string());
  CHECK(contains(run_command({"doctor"}, {{"ANYPLACE_CPU_SIM_DEVICES", "0"}}).out, "none can be used"));
}

TEST_CASE("doctor outlives a plugin that crashes and one that hangs") {
  PluginFolder folder;
  folder.add("crasher").add("hanger");
  const Run run =
      run_command({"doctor", "--json"}, {{"ANYPLACE_BACKEND_PATH", folder.path()}, {"ANYPLACE_PROBE_TIMEOUT", "20"}});
  CHECK(run.status == 0);
  const json crasher = plugin_at(run.json(), folder.file("crasher"));
  CHECK(crasher.at("state") == "crashed");
  CHECK(crasher.at("loads") == false);
  CHECK(contains(crasher.at("advice"), "remove the file"));
  const json hanger = plugin_at(run.json(), folder.file("hanger"));
  CHECK(hanger.at("state") == "timed_out");
  CHECK(contains(hanger.at("reason"), "20 s"));
  CHECK(plugin_at(run.json(), ANYPLACE_CPU_SIM_PLUGIN).at("state") == "accepted");
}

TEST_CASE("doctor tells an empty file from a truncated plugin") {
  PluginFolder folder;
  folder.add_empty("nothing").add_truncated("half");
  const json answer = diagnosis(folder);
  const json nothing = plugin_at(answer, folder.file("nothing"));
  CHECK(nothing.at("state") == "plugin_refused");
  CHECK(contains(nothing.at("reason"), "empty"));
  const json half = plugin_at(answer, folder.file("half"));
  CHECK(half.at("state") == "plugin_refused");
  CHECK(half.at("reason") != nothing.at("reason"));
  CHECK(half.at("advice").is_string());
}

TEST_CASE("doctor says which vendor library is missing and to install it") {
  PluginFolder folder;
  folder.add("needs_vendor");
  const json plugin = plugin_at(diagnosis(folder), folder.file("needs_vendor"));
  CHECK(plugin.at("state") == "library_missing");
  CHECK(contains(plugin.at("reason"), "libneeded.so.1"));
  CHECK(contains(plugin.at("advice"), "install the vendor's driver"));
  CHECK(plugin.at("source") == "ANYPLACE_BACKEND_PATH");
}

TEST_CASE("doctor says of a plugin without devices that it works") {
  PluginFolder folder;
  folder.add("deserted");
  const json plugin = plugin_at(diagnosis(folder), folder.file("deserted"));
  CHECK(plugin.at("state") == "accepted");
  CHECK(plugin.at("devices").empty());
  CHECK(contains(plugin.at("reason"), "no device"));
}

TEST_CASE("Of two plugins of one name the first is taken and the second shadowed") {
  PluginFolder folder;
  folder.add_cpu_sim();
  const json answer = diagnosis(folder);
  CHECK(plugin_at(answer, folder.file("cpu_sim")).at("state") == "accepted");
  const json second = plugin_at(answer, ANYPLACE_CPU_SIM_PLUGIN);
  CHECK(second.at("state") == "shadowed");
  CHECK(second.at("loads") == true);
  CHECK(contains(second.at("reason"), folder.file("cpu_sim")));
}

TEST_CASE("A refused plugin does not hide the next one of its name") {
  PluginFolder folder;
  folder.add_empty("cpu_sim");
  const json answer = diagnosis(folder);
  CHECK(plugin_at(answer, folder.file("cpu_sim")).at("state") == "plugin_refused");
  CHECK(plugin_at(answer, ANYPLACE_CPU_SIM_PLUGIN).at("state") == "accepted");
}

TEST_CASE("A refused plugin is not blamed for the next one of its name that crashes") {
  PluginFolder first;
  PluginFolder second;
  first.add_empty("acme");
  second.add("crasher", "acme");
  const std::string both = first.path() + ":" + second.path();
  const json answer = run_command({"doctor", "--json"}, {{"ANYPLACE_BACKEND_PATH", both}}).json();
  CHECK(plugin_at(answer, first.file("acme")).at("state") == "plugin_refused");
  CHECK(plugin_at(answer, second.file("acme")).at("state") == "crashed");
}

TEST_CASE("A plugin that crashes hides the next one of its name as it would from an application") {
  PluginFolder folder;
  folder.add("crasher", "cpu_sim");
  const Run run = run_command({"doctor", "--json"}, {{"ANYPLACE_BACKEND_PATH", folder.path()}});
  CHECK(run.status == 1);
  CHECK(plugin_at(run.json(), folder.file("cpu_sim")).at("state") == "crashed");
  const json second = plugin_at(run.json(), ANYPLACE_CPU_SIM_PLUGIN);
  CHECK(second.at("state") == "shadowed");
  CHECK(second.at("loads") == true);
  CHECK(run.json().at("auto").at("problem").at("code") == "crashed");
}

TEST_CASE("doctor lists the directories of the search and those that can't be used") {
  PluginFolder folder;
  const json answer =
      run_command({"doctor", "--json"}, {{"ANYPLACE_BACKEND_PATH", folder.path() + ":here:/no/such/folder"}}).json();
  CHECK(answer.at("directories").at(0).at("path") == folder.path());
  CHECK(answer.at("directories").at(0).at("there") == true);
  const json& last = answer.at("directories").back();
  CHECK(last.at("source") == "installed");
  std::vector<std::string> refused;
  for (const json& problem : answer.at("directory_problems")) refused.push_back(problem.at("directory"));
  CHECK(refused == std::vector<std::string>{"here", "/no/such/folder"});
}

TEST_CASE("doctor says which folders and plugins another user could have written and what would be right") {
  PluginFolder open_to_all, folder;
  open_to_all.add("plain");
  folder.add("plain");
  std::filesystem::permissions(open_to_all.path(), std::filesystem::perms::all);
  std::filesystem::permissions(folder.file("plain"), std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  const std::string both = open_to_all.path() + ":" + folder.path();
  const json answer = run_command({"doctor", "--json"}, {{"ANYPLACE_BACKEND_PATH", both}}).json();
  REQUIRE(answer.at("directory_problems").size() == 1);
  const json& problem = answer.at("directory_problems").at(0);
  CHECK(problem.at("directory") == open_to_all.path());
  CHECK(contains(problem.at("reason"), "may be written by every user"));
  CHECK(contains(problem.at("reason"), "chmod go-w " + open_to_all.path()));
  const json plugin = plugin_at(answer, folder.file("plain"));
  CHECK(plugin.at("state") == "plugin_refused");
  CHECK(contains(plugin.at("reason"), folder.file("plain") + " may be written by every user"));
  CHECK(contains(plugin.at("advice"), "chmod go-w " + folder.file("plain")));
  CHECK(contains(plugin.at("advice"), "ANYPLACE_TRUSTED_FOLDERS"));
  const json trusting =
      run_command({"doctor", "--json"}, {{"ANYPLACE_BACKEND_PATH", both}, {"ANYPLACE_TRUSTED_FOLDERS", folder.path()}})
          .json();
  CHECK(plugin_at(trusting, folder.file("plain")).at("state") == "accepted");
}

TEST_CASE("doctor points at a variable that nothing reads") {
  const json answer =
      run_command({"doctor", "--json"},
                  {{"ANYPLACE_BACKEND_PAHT", "/x"}, {"ANYPLACE_CPU_SIM_DEVICES", "3"}, {"ANYPLACE_AUTO", "cpu_sim"}})
          .json();
  json variables = json::array();
  for (const json& variable : answer.at("variables")) {
    if (variable.at("name") != "ANYPLACE_TRUSTED_FOLDERS") variables.push_back(variable);  // run_command's, sometimes
  }
  REQUIRE(variables.size() == 4);
  CHECK(variables.at(0).at("name") == "ANYPLACE_AUTO");
  CHECK(variables.at(0).at("meaning").is_string());
  CHECK(variables.at(1).at("name") == "ANYPLACE_BACKEND_PAHT");
  CHECK(variables.at(1).at("meaning").is_null());
  CHECK(contains(variables.at(2).at("meaning"), "cpu_sim"));
  CHECK(variables.at(3).at("name") == "ANYPLACE_PROBE_TIMEOUT");  // run_command's
  CHECK(contains(run_command({"doctor"}, {{"ANYPLACE_BACKEND_PAHT", "/x"}}).out, "not read by anything"));
}

TEST_CASE("doctor lists the compilers of kernels, what each makes and works with, and for which backends") {
  const Run run = run_command({"doctor", "--json"});
  const json answer = run.json();
  CHECK(answer.at("compilers_problem").is_null());
  std::vector<std::string> names;
  for (const json& compiler : answer.at("compilers")) {
    names.push_back(compiler.at("name"));
    CAPTURE(compiler.dump());
    const std::size_t formats = compiler.at("formats").size() + compiler.at("from_spirv").size();
    CHECK(formats != 0);
    CHECK(compiler.at("reason").is_null() == compiler.at("usable").get<bool>());
    CHECK(compiler.at("usable") == (compiler.at("missing").size() < formats));
    CHECK(compiler.at("library").is_null() != compiler.at("usable").get<bool>());
    if (compiler.at("name") == "host") {
      CHECK(compiler.at("usable") == true);
      CHECK(compiler.at("formats") == json{"shared_object"});
      CHECK(contains(compiler.at("version"), "."));
    }
  }
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"clang", "hiprtc", "host", "nvrtc", "spirv_host"});
  CHECK(answer.at("compilers_for").at("cpu_sim") == json{"host"});
  const Run text = run_command({"doctor"});
  CHECK(contains(text.out, "compilers of kernels\n"));
  CHECK(contains(text.out, "  host: can be used\n"));
  CHECK(contains(text.out, "for cpu_sim:"));
}

TEST_CASE("doctor says what to install for a compiler that isn't there") {
  const Variables nothing{{"PATH", "/no/such/folder"}};
  const json answer = run_command({"doctor", "--json"}, nothing).json();
  CHECK(answer.at("compilers_for").at("cpu_sim").empty());
  for (const json& compiler : answer.at("compilers")) {
    if (compiler.at("name") != "host") continue;
    CHECK(compiler.at("usable") == false);
    CHECK(contains(compiler.at("reason"), "apt-get install g++"));
  }
  CHECK(contains(run_command({"doctor"}, nothing).out, "none: host would do, see above what is missing"));
}

TEST_CASE("doctor says which images a compiler can't make, and what to install for them") {
  const ::test::TempDir folder;
  const std::filesystem::path programs = folder.path() / "llvm-14" / "bin";
  std::filesystem::create_directories(programs);
  std::ofstream(programs / "clang++") << "#!/bin/sh\n";
  std::filesystem::permissions(programs / "clang++", std::filesystem::perms::owner_all);
  const Variables only_clang{{"PATH", programs.string()}, {"ANYPLACE_LLVM_SPIRV", ""}, {"ANYPLACE_KERNEL_CLANG", ""}};
  const json answer = run_command({"doctor", "--json"}, only_clang).json();
  CHECK(answer.at("compilers_for").at("levelzero").empty());
  for (const json& compiler : answer.at("compilers")) {
    if (compiler.at("name") != "clang") continue;
    CHECK(compiler.at("usable") == true);
    std::map<std::string, std::string> missing;
    for (const json& one : compiler.at("missing")) missing[one.at("format")] = one.at("reason");
    REQUIRE(missing.size() == 2);
    CHECK(contains(missing["hsaco"], "apt-get install lld-14"));
    CHECK(contains(missing["spirv"], "apt-get install llvm-spirv-14"));
  }
  const Run text = run_command({"doctor"}, only_clang);
  CHECK(contains(text.out, "no hsaco:"));
  CHECK(contains(text.out, "no spirv:"));
  CHECK(contains(text.out, "none: clang would do, see above what is missing"));
}

TEST_CASE("doctor says why a compiler's plugin is refused") {
  PluginFolder folder;
  std::ofstream(folder.path() + "/libanyplace_compiler_acme.so") << "this is no plugin";
  bool found = false;
  const json answer = diagnosis(folder);
  for (const json& compiler : answer.at("compilers")) {
    if (compiler.at("name") != "acme") continue;
    found = true;
    CHECK(compiler.at("plugin") == folder.path() + "/libanyplace_compiler_acme.so");
    CHECK(compiler.at("usable") == false);
    CHECK(compiler.at("reason").is_string());
  }
  CHECK(found);
}

TEST_CASE("doctor says where compiled kernels are kept, or why none are") {
  const ::test::TempDir folder;
  const std::string kept = (folder.path() / "kernels").string();
  const Variables used{{"ANYPLACE_CACHE", kept}};
  const json good = run_command({"doctor", "--json"}, used).json().at("kernel_cache");
  CHECK(good == json{{"folder", kept}, {"problem", nullptr}, {"warning", nullptr}});
  CHECK(contains(run_command({"doctor"}, used).out, kept));
  const Variables limited{{"ANYPLACE_CACHE", kept}, {"ANYPLACE_CACHE_BYTES", "abc"}};
  CHECK(contains(run_command({"doctor"}, limited).out, "ANYPLACE_CACHE_BYTES is \"abc\""));

  const Variables off{{"ANYPLACE_CACHE", "off"}};
  const Run run = run_command({"doctor", "--json"}, off);
  CHECK(run.status == 0);  // kernels are compiled all the same
  const json nothing{{"folder", nullptr}, {"problem", "ANYPLACE_CACHE is off"}, {"warning", nullptr}};
  CHECK(run.json().at("kernel_cache") == nothing);
  const std::string text = run_command({"doctor"}, off).out;
  CHECK(contains(text, "cache of compiled kernels\n"));
  CHECK(contains(text, "ANYPLACE_CACHE is off"));

  std::filesystem::create_directory(kept + ".open");
  std::filesystem::permissions(kept + ".open", std::filesystem::perms::all);
  const Variables open{{"ANYPLACE_CACHE", kept + ".open"}};
  const json refused = run_command({"doctor", "--json"}, open).json().at("kernel_cache");
  CHECK(refused.at("folder").is_null());
  CHECK(contains(refused.at("problem"), "may be written by every user"));
}

TEST_CASE("doctor lists the layers, and says which are on") {
  const json answer = run_command({"doctor", "--json"}, {{"ANYPLACE_LAYERS", "cpu_sim+faults"}}).json();
  bool found = false;
  for (const json& layer : answer.at("layers")) {
    if (layer.at("name") != "faults") continue;
    found = true;
    CHECK(layer.at("usable") == true);
    CHECK(layer.at("variables") == json{"ANYPLACE_FAULTS", "ANYPLACE_FAULTS_REPORT"});
  }
  CHECK(found);
  CHECK(answer.at("layers_on").at("cpu_sim") == json{"faults"});
  CHECK(answer.at("layers_problem").is_null());
  const std::string text = run_command({"doctor"}, {{"ANYPLACE_LAYERS", "cpu_sim+faults"}}).out;
  CHECK(contains(text, "  faults: can be used\n"));
  CHECK(contains(text, "on for cpu_sim:"));
}

TEST_CASE("doctor shows what is wrong with ANYPLACE_LAYERS") {
  const json answer = run_command({"doctor", "--json"}, {{"ANYPLACE_LAYERS", "fault"}}).json();
  CHECK(contains(answer.at("layers_problem"), "ANYPLACE_LAYERS names the layer \"fault\""));
  CHECK(answer.at("layers_on").empty());
}

TEST_CASE("doctor says why a layer can't be used") {
  const json answer = run_command({"doctor", "--json"}, {{"ANYPLACE_FAULTS", "nothing"}}).json();
  for (const json& layer : answer.at("layers")) {
    if (layer.at("name") != "faults") continue;
    CHECK(layer.at("usable") == false);
    CHECK(contains(layer.at("reason"), "ANYPLACE_FAULTS, column 1"));
  }
}

TEST_CASE("doctor shows what is wrong with ANYPLACE_AUTO") {
  const json problem = run_command({"doctor", "--json"}, {{"ANYPLACE_AUTO", "cuda"}}).json().at("auto").at("problem");
  CHECK(problem.at("code").is_string());
  CHECK(contains(problem.at("text"), "cuda"));
}

}  // namespace doctor_test
