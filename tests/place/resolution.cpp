// SPDX-License-Identifier: Apache-2.0
// What becomes of a well-formed place: the device, or no_such_backend or no_such_device with what there is instead.
#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "anyplace/anyplace.h"
#include "loader/files.h"

namespace resolution_cases {

using anyplace::Device;
using anyplace::ErrorCode;
using anyplace_test::device_error;
using anyplace_test::Folder;
using anyplace_test::search_in;
using anyplace_test::set_variable;
using Catch::Contains;

TEST_CASE("A name alone is device 0 until the thread has set another") {
  CHECK(Device("cpu_sim").place().to_string() == "cpu_sim:0");
  anyplace::set_current_device(anyplace::Device("cpu_sim:1"));
  CHECK(Device("cpu_sim").place().to_string() == "cpu_sim:1");
  std::string elsewhere;
  std::thread([&] { elsewhere = Device("cpu_sim").place().to_string(); }).join();
  CHECK(elsewhere == "cpu_sim:0");
}

TEST_CASE("An alias leads to the backend's own name") {
  CHECK(Device("custom_cpu:1").place().to_string() == "cpu_sim:1");
  CHECK(anyplace::device_count("custom_cpu") == anyplace::device_count("cpu_sim"));
}

TEST_CASE("A device that isn't there is answered with those that are") {
  const anyplace::Error error = device_error("cpu_sim:9");
  CHECK(error.code() == ErrorCode::no_such_device);
  CHECK(error.place() == "cpu_sim:9");
  CHECK_THAT(error.text(), Contains("2 devices") && Contains("cpu_sim:0") && Contains("cpu_sim:1"));
  CHECK(device_error("cpu_sim:2147483647").code() == ErrorCode::no_such_device);
}

TEST_CASE("More devices than a message takes are cut short") {
  set_variable("ANYPLACE_CPU_SIM_DEVICES", "200");
  CHECK_THAT(device_error("cpu_sim:200").text(), Contains("200 devices") && Contains("... cpu_sim:199"));
}

TEST_CASE("A backend that isn't there is answered with the nearest name and where it was looked for") {
  const anyplace::Error error = device_error("cpu_sin:0");
  CHECK(error.code() == ErrorCode::no_such_backend);
  CHECK(error.place() == "cpu_sin:0");
  CHECK_THAT(error.text(), Contains("did you mean \"cpu_sim\"") && Contains("libanyplace_backend_cpu_sin.so"));
}

TEST_CASE("A known backend without a plugin says where a plugin is looked for") {
  // Which vendors' plugins come with the library depends on what this machine had to build them with.
  std::string missing, alias;
  const std::vector<anyplace::PluginCandidate> found = anyplace::plugin_candidates();
  for (const auto& [other_name, name] : {std::pair{"nvidia", "cuda"}, {"amd", "hip"}, {"xpu", "levelzero"}}) {
    const auto is_it = [name = std::string(name)](const anyplace::PluginCandidate& one) { return one.name == name; };
    if (std::none_of(found.begin(), found.end(), is_it)) missing = name, alias = other_name;
  }
  if (missing.empty()) {
    std::cout << "ANYPLACE_TEST_SKIPPED: the plugins of all known backends are here\n";
    return;
  }
  const anyplace::Error error = device_error(alias + ":0");
  CHECK(error.code() == ErrorCode::no_such_backend);
  CHECK_THAT(error.text(), Contains("libanyplace_backend_" + missing + ".so") && Contains("ANYPLACE_BACKEND_PATH") &&
                               Contains("alias of " + missing));
}

TEST_CASE("Other backends are listed by file name and stay unopened") {
  const Folder folder;
  anyplace_test::write_file(folder.plugin("other"), "not even a shared object");
  search_in(folder.path());
  CHECK_THAT(device_error("cpu_sim:9").text(), Contains("libanyplace_backend_other.so"));
  CHECK_THAT(device_error("nothing:0").text(),
             Contains("libanyplace_backend_other.so") && Contains("libanyplace_backend_cpu_sim.so"));
  const auto other = anyplace_test::candidate_at(folder.plugin("other"));
  REQUIRE(other.has_value());
  CHECK(other->state == anyplace::PluginCandidate::State::unopened);
}

TEST_CASE("A plugin that was found but refused is answered with why") {
  const Folder folder;
  anyplace_test::write_file(folder.plugin("cuda"), "");
  search_in(folder.path());
  const anyplace::Error error = device_error("cuda:0");
  CHECK(error.code() == ErrorCode::no_such_backend);
  CHECK_THAT(error.text(), Contains(folder.plugin("cuda")) && Contains("empty"));
}

TEST_CASE("A bad name for a whole backend is invalid_argument") {
  for (const char* const name : {"", "cpu_sim:0", "CPU", "../cpu_sim", "a/b"}) {
    CAPTURE(name);
    CHECK(anyplace_test::error_of([&] { anyplace::device_count(name); }).code() == ErrorCode::invalid_argument);
    CHECK(anyplace_test::error_of([&] { anyplace::backend_info(name); }).code() == ErrorCode::invalid_argument);
  }
}

TEST_CASE("A symbolic link to a plugin's file name is an alias") {
  const Folder folder;
  std::filesystem::create_symlink(anyplace_test::built_plugin("plain"), folder.plugin("plain"));
  std::filesystem::create_symlink("libanyplace_backend_plain.so", folder.plugin("vendor"));
  std::filesystem::create_symlink("libanyplace_backend_vendor.so", folder.plugin("vendor2"));
  search_in(folder.path());
  CHECK(Device("vendor:0").place().to_string() == "plain:0");
  CHECK(Device("vendor2").place().to_string() == "plain:0");
  CHECK(anyplace::backend_info("vendor").name == "plain");
  for (const std::string& name : anyplace::backend_names()) CHECK(name.find("vendor") == std::string::npos);
}

TEST_CASE("A symbolic link may make an alias of an alias of the table") {
  const Folder folder;
  anyplace_test::write_file(folder.plugin("custom_cpu"), "");
  std::filesystem::create_symlink("libanyplace_backend_custom_cpu.so", folder.plugin("simulator"));
  search_in(folder.path());
  CHECK(Device("simulator:1").place().to_string() == "cpu_sim:1");
}

TEST_CASE("A link to a version of the same plugin is no alias") {
  const Folder folder;
  std::filesystem::copy_file(anyplace_test::built_plugin("plain"), folder.file("plain.so.1.0"));
  std::filesystem::create_symlink("plain.so.1.0", folder.plugin("plain"));
  search_in(folder.path());
  CHECK(Device("plain").place().to_string() == "plain:0");
}

TEST_CASE("A broken link and a ring of links are no aliases") {
  const Folder folder;
  std::filesystem::create_symlink("libanyplace_backend_gone.so", folder.plugin("broken"));
  std::filesystem::create_symlink("libanyplace_backend_ring2.so", folder.plugin("ring1"));
  std::filesystem::create_symlink("libanyplace_backend_ring1.so", folder.plugin("ring2"));
  search_in(folder.path());
  const anyplace::Error broken = device_error("broken:0");
  CHECK(broken.code() == ErrorCode::no_such_backend);
  CHECK_THAT(broken.text(), Contains("symbolic link to a file that isn't there"));
  CHECK(device_error("ring1:0").code() == ErrorCode::no_such_backend);
}

TEST_CASE("A uuid selects a device whatever the case of its letters") {
  search_in(std::string(ANYPLACE_TEST_PLUGINS) + "/plus:" + ANYPLACE_TEST_PLUGINS + "/plain");
  CHECK(Device("plus:uuid=PLUS-1").place().to_string() == "plus:1");
  CHECK(Device("plain:uuid=plain-aA-01").place().to_string() == "plain:0");
  const anyplace::Error error = device_error("plus:uuid=PLUS-2");
  CHECK(error.code() == ErrorCode::no_such_device);
  CHECK_THAT(error.text(), Contains("plus:uuid=PLUS-2") && Contains("PLUS-0") && Contains("PLUS-1"));
}

TEST_CASE("The beginning of a uuid selects the one device whose uuid begins so") {
  search_in(std::string(ANYPLACE_TEST_PLUGINS) + "/plus:" + ANYPLACE_TEST_PLUGINS + "/plain");
  CHECK(Device("plain:uuid=pLain-a").place().to_string() == "plain:0");
  CHECK(Device("plain:uuid=p").place().to_string() == "plain:0");
  CHECK(Device("plus:uuid=PLUS-1").place().to_string() == "plus:1");
  CHECK(device_error("plain:uuid=lain").code() == ErrorCode::no_such_device);
  CHECK(device_error("plain:uuid=plain-aA-011").code() == ErrorCode::no_such_device);
}

TEST_CASE("The beginning of several uuids is answered with the devices that fit") {
  search_in(std::string(ANYPLACE_TEST_PLUGINS) + "/plus");
  const anyplace::Error error = device_error("plus:uuid=plus-");
  CHECK(error.code() == ErrorCode::no_such_device);
  CHECK_THAT(error.text(), Contains("fits 2 devices") && Contains("PLUS-0 (plus:0)") && Contains("PLUS-1 (plus:1)"));
}

TEST_CASE("A pci address selects a device whatever its case and the width of its domain") {
  search_in(std::string(ANYPLACE_TEST_PLUGINS) + "/plus:" + ANYPLACE_TEST_PLUGINS + "/plain");
  CHECK(Device("plus:pci=0001:0b:00.1").place().to_string() == "plus:1");
  CHECK(Device("plain:pci=00000000:17:0A.0").place().to_string() == "plain:0");
  CHECK_THAT(device_error("plain:pci=0000:17:0b.0").text(), Contains("0000:17:0a.0"));
}

TEST_CASE("Selecting cpu_sim neither opens nor fails because of another plugin") {
  const Folder folder;
  for (const char* const name : {"cuda", "hip", "levelzero"}) anyplace_test::copy_plugin("crasher", folder, name);
  search_in(folder.path());
  CHECK(Device("cpu_sim:0").index() == 0);
  for (const anyplace::PluginCandidate& candidate : anyplace::plugin_candidates()) {
    if (candidate.name == "cpu_sim") continue;
    // Those that come with the library are behind the folder's, if they are there.
    CHECK((candidate.state == anyplace::PluginCandidate::State::unopened ||
           candidate.state == anyplace::PluginCandidate::State::shadowed));
  }
}

}  // namespace resolution_cases
