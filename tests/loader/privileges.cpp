// SPDX-License-Identifier: Apache-2.0
// A process with raised privileges takes no plugins from where its environment points, and no layers that it names.
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "loader/files.h"

namespace privileges_cases {

using anyplace_test::Folder;
using Catch::Contains;

namespace {

/// A group that the file may be given to and that isn't the process's own, or -1.
gid_t another_group() {
  if (::geteuid() == 0) return 65534;
  std::vector<gid_t> groups(64);
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  for (int i = 0; i < count; ++i) {
    if (groups[static_cast<std::size_t>(i)] != ::getegid()) return groups[static_cast<std::size_t>(i)];
  }
  return static_cast<gid_t>(-1);
}

/// What the program says, run from `path`, of the plugin `name` in the folder too.
std::string said_by(const std::string& path, const Folder& folder, const char* name) {
  const test::Ended result = anyplace_test::run_child([&] {
    ::dup2(2, 1);
    ::execl(path.c_str(), path.c_str(), folder.plugin(name).c_str(), name, nullptr);
    ::_exit(1);
  });
  CHECK(result.status == 0);
  return result.err;
}

}  // namespace

TEST_CASE("The variables of paths, trust and layers are ignored where the process runs with raised privileges") {
  const Folder folder;
  anyplace_test::write_file(folder.plugin("planted"), "");
  anyplace_test::add_mimic(folder, "writable", "good");
  REQUIRE(::chmod(folder.plugin("writable").c_str(), 0666) == 0);
  anyplace_test::set_variable("ANYPLACE_TRUSTED_FOLDERS", folder.path());
  anyplace_test::search_in(folder.path());
  anyplace_test::write_file(folder.file("libanyplace_layer_planted.so"), "");
  anyplace_test::set_variable("ANYPLACE_LAYERS", "planted");
  CHECK_THAT(said_by(ANYPLACE_TEST_SAY_SEARCH, folder, "planted"),
             Contains("raised 0") && Contains("backend planted") && Contains("layer planted"));
  anyplace_test::set_variable("ANYPLACE_LAYERS", "");
  CHECK_THAT(said_by(ANYPLACE_TEST_SAY_SEARCH, folder, "writable"),
             Contains("taken from " + folder.plugin("writable")));
  anyplace_test::set_variable("ANYPLACE_LAYERS", "planted");

  const std::string program = folder.file("say_search");
  std::filesystem::copy_file(ANYPLACE_TEST_SAY_SEARCH, program);
  const gid_t group = another_group();
  if (group == static_cast<gid_t>(-1) || ::chown(program.c_str(), static_cast<uid_t>(-1), group) != 0) {
    WARN("not checked: this user can't give a program to another group");
    return;
  }
  REQUIRE(::chmod(program.c_str(), 02755) == 0);
  const std::string said = said_by(program, folder, "writable");
  if (said.find("raised 1") == std::string::npos) {
    WARN("not checked: the temporary directory doesn't let programs raise their privileges");
    return;
  }
  CHECK_THAT(said, !Contains("planted") && Contains("backend cpu_sim") &&
                       Contains("problem ANYPLACE_BACKEND_PATH: it is ignored") &&
                       Contains("problem ANYPLACE_TRUSTED_FOLDERS: it is ignored") &&
                       Contains(folder.plugin("writable") + " may be written by every user"));
}

}  // namespace privileges_cases
