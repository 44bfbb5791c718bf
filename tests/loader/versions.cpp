// SPDX-License-Identifier: Apache-2.0
// Two versions of the library on one machine: each has a folder of plugins of its own. The other version is this one's
// code with the next one's SONAME and folder (CMakeLists.txt).
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "anyplace/version.h"
#include "loader/files.h"
#include "support/process.h"

namespace versions_cases {

using anyplace_test::Folder;
using Catch::Contains;

namespace {

const std::string this_version = std::to_string(ANYPLACE_VERSION_MAJOR) + "." + std::to_string(ANYPLACE_VERSION_MINOR);
const std::string next_version =
    std::to_string(ANYPLACE_VERSION_MAJOR) + "." + std::to_string(ANYPLACE_VERSION_MINOR + 1);

/// A folder of libraries, as lib/ of a prefix is.
class Installed : public Folder {
 public:
  void add_library(const std::string& version) {
    std::filesystem::copy_file(version == next_version ? ANYPLACE_TEST_NEXT_LIBRARY : ANYPLACE_TEST_LIBRARY,
                               file("libanyplace.so." + version));
  }
  /// Installs a good plugin of that name where the version has its own; gives its file.
  std::string add_plugin(const std::string& version, const std::string& name) {
    const std::string folder = file("anyplace-" + version);
    std::filesystem::create_directories(folder);
    anyplace_test::set_variable("MIMIC_" + name, "good");
    const std::string path = folder + "/libanyplace_backend_" + name + ".so";
    std::filesystem::copy_file(anyplace_test::built_plugin("mimic"), path);
    return path;
  }
  /// What the program of that version says of these names, with the library that is installed here.
  std::string said(const std::string& version, std::vector<std::string> names) const {
    names.insert(names.begin(), version == next_version ? ANYPLACE_TEST_NEXT_WHICH_PLUGIN : ANYPLACE_TEST_WHICH_PLUGIN);
    const test::Ended ended = test::Process(names, {{"LD_LIBRARY_PATH", path()}}).end();
    CHECK(ended.status == 0);
    return ended.out;
  }
};

}  // namespace

TEST_CASE("Two versions in one folder each find their own plugins") {
  Installed both;
  both.add_library(this_version);
  both.add_library(next_version);
  const std::string own = both.add_plugin(this_version, "twin");
  const std::string of_next = both.add_plugin(next_version, "twin");
  CHECK_THAT(both.said(this_version, {"twin"}), Contains("twin: " + own + "\n"));
  CHECK_THAT(both.said(next_version, {"twin"}), Contains("twin: " + of_next + "\n"));
}

TEST_CASE("Two versions in two prefixes each find their own plugins") {
  Installed first;
  Installed second;
  first.add_library(this_version);
  second.add_library(next_version);
  const std::string own = first.add_plugin(this_version, "twin");
  const std::string of_next = second.add_plugin(next_version, "twin");
  CHECK_THAT(first.said(this_version, {"twin"}), Contains("twin: " + own + "\n"));
  CHECK_THAT(second.said(next_version, {"twin"}), Contains("twin: " + of_next + "\n"));
}

TEST_CASE("A backend that only another version has is missing, and the error says whose plugin is where") {
  Installed both;
  both.add_library(this_version);
  const std::string own = both.add_plugin(this_version, "twin");
  const std::string of_next = both.add_plugin(next_version, "later");
  const std::string said = both.said(this_version, {"later", "nowhere"});
  CHECK_THAT(said, Contains("there is no backend later") &&
                       Contains(of_next +
                                " is another version's; this is anyplace " ANYPLACE_VERSION
                                ", whose plugins are in folders named anyplace-" +
                                this_version));
  CHECK_THAT(said.substr(said.find("nowhere:")), !Contains("another version's"));
}

}  // namespace versions_cases
