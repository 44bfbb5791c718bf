// SPDX-License-Identifier: Apache-2.0
// A plugin that another user could have put there is never loaded, whatever names its file or folder, and the reason is
// said. Which paths are trusted is tested in tests/kit/trust_test.cpp.
#include <dlfcn.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "anyplace/anyplace.h"
#include "anyplace/compile.h"
#include "loader/files.h"

namespace trust_cases {

using anyplace::ErrorCode;
using anyplace_test::candidate_at;
using anyplace_test::device_error;
using anyplace_test::Folder;
using anyplace_test::search_in;
using anyplace_test::set_variable;
using Catch::Contains;

namespace {

constexpr uid_t stranger = 12345, somebody = 12346;

/// Only root gives files to others.
bool is_root() {
  if (::geteuid() == 0) return true;
  std::printf("ANYPLACE_TEST_SKIPPED: only root can give files to another user\n");
  return false;
}

void give(const std::string& path, uid_t owner) { REQUIRE(::lchown(path.c_str(), owner, owner) == 0); }
void allow(const std::string& path, mode_t mode) { REQUIRE(::chmod(path.c_str(), mode) == 0); }

/// A folder that every user may read, with the good plugin `planted`.
struct Planted : Folder {
  const std::string plugin = anyplace_test::add_mimic(*this, "planted", "good");
  Planted() { allow(path(), 0755); }
};

bool is_loaded(const std::string& file) { return ::dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr; }

/// What is said of a directory that isn't searched; "" if it is searched.
std::string problem_with(const std::string& directory) {
  for (const auto& problem : anyplace::plugin_directory_problems()) {
    if (problem.directory == directory) return problem.reason;
  }
  return "";
}

/// The folder of the variable isn't searched, and the error of its backend says why.
void check_not_searched(const std::string& folder, const std::string& why) {
  search_in(folder);
  CHECK_THAT(problem_with(folder), Contains(why) && Contains("ANYPLACE_TRUSTED_FOLDERS"));
  const anyplace::Error error = device_error("planted:0");
  CHECK(error.code() == ErrorCode::no_such_backend);
  CHECK_THAT(error.text(), Contains("not searched: " + folder + ": ") && Contains(why));
  const auto names = anyplace::backend_names();
  CHECK(std::count(names.begin(), names.end(), "planted") == 0);
  CHECK_FALSE(is_loaded(folder + "/libanyplace_backend_planted.so"));
  CHECK(anyplace::Device("cpu_sim:0").index() == 0);  // others are as before
}

/// The plugin's file is refused, and the error of its backend and what doctor shows say why.
void check_refused(const std::string& file, const std::string& why) {
  const anyplace::Error error = device_error("planted:0");
  CHECK(error.code() == ErrorCode::no_such_backend);
  CHECK_THAT(error.text(), Contains(file + ": ") && Contains(why) && Contains("ANYPLACE_TRUSTED_FOLDERS"));
  const auto candidate = candidate_at(file);
  REQUIRE(candidate.has_value());
  CHECK(candidate->state == anyplace::PluginCandidate::State::refused);
  CHECK(candidate->code == ErrorCode::plugin_refused);
  CHECK_THAT(candidate->problem(), Contains(why));
  CHECK_THAT(candidate->remedy, Contains("docs/places.md#trust"));
  CHECK_FALSE(is_loaded(file));
}

/// A copy of the library in a folder of its own, which say_search is run with.
struct MovedLibrary : Folder {
  MovedLibrary() {
    allow(path(), 0755);
    Dl_info info{};
    REQUIRE(::dladdr(reinterpret_cast<const void*>(&anyplace::backend_names), &info) != 0);
    const std::filesystem::path library = info.dli_fname;  // its name is the one that programs are linked with
    std::filesystem::copy_file(library, file(library.filename().string()));
  }
  std::string said(const std::vector<std::string>& words = {}) const {
    std::vector<std::string> command{ANYPLACE_TEST_SAY_SEARCH};
    command.insert(command.end(), words.begin(), words.end());
    return test::Process(command, {{"LD_LIBRARY_PATH", path()}}).end().out;
  }
};

}  // namespace

TEST_CASE("A folder of the path variable of another user is not searched") {
  if (!is_root()) return;
  const Planted folder;
  give(folder.path(), stranger);
  check_not_searched(folder.path(), folder.path() + " belongs to the user 12345");
}

TEST_CASE("A folder of the path variable that every user may write is not searched") {
  const Planted folder;
  allow(folder.path(), 01777);
  check_not_searched(folder.path(), folder.path() + " may be written by every user (its mode is 1777)");
}

TEST_CASE("A folder of the path variable below one that another user could replace is not searched") {
  const Folder above;
  const std::string folder = above.file("plugins");
  std::filesystem::create_directory(folder);
  std::filesystem::copy_file(anyplace_test::built_plugin("plain"), folder + "/libanyplace_backend_planted.so");
  allow(above.path(), 0777);
  check_not_searched(folder, above.path() + " may be written by every user (its mode is 0777)");
}

TEST_CASE("A folder of the path variable may be a link but not one of another user") {
  const Planted folder;
  const Folder links;
  const std::string link = links.file("plugins");
  std::filesystem::create_directory_symlink(folder.path(), link);
  if (::geteuid() == 0) {
    give(link, stranger);
    search_in(link);
    CHECK_THAT(problem_with(link), Contains(link + " belongs to the user 12345"));
    give(link, 0);
  }
  search_in(link);
  CHECK(problem_with(link) == "");
  CHECK(anyplace::Device("planted:0").index() == 0);
}

TEST_CASE("A plugin of another user in a good folder is refused and the next one of the name is used") {
  if (!is_root()) return;
  const Planted first, second;
  give(first.plugin, stranger);
  search_in(first.path() + ":" + second.path());
  CHECK(anyplace::backend_info("planted").path == second.plugin);
  CHECK_THAT(candidate_at(first.plugin)->reason, Contains(first.plugin + " belongs to the user 12345"));
}

TEST_CASE("A plugin that every user may write is refused") {
  const Planted folder;
  allow(folder.plugin, 0666);
  search_in(folder.path());
  check_refused(folder.plugin, folder.plugin + " may be written by every user (its mode is 0666)");
}

TEST_CASE("A plugin that is a link to a file of another user is refused") {
  if (!is_root()) return;
  const Planted elsewhere;
  give(elsewhere.plugin, stranger);
  const Folder folder;
  std::filesystem::create_symlink(elsewhere.plugin, folder.plugin("planted"));
  search_in(folder.path());
  check_refused(folder.plugin("planted"), elsewhere.plugin + " belongs to the user 12345");
}

TEST_CASE("A registered plugin is refused where another user could have written its file or its folder") {
  const Planted folder;
  allow(folder.path(), 0777);
  anyplace::register_plugin(folder.plugin);
  check_refused(folder.plugin, folder.path() + " may be written by every user");
  allow(folder.path(), 0755);
  if (!is_root()) return;
  const Planted other;
  give(other.plugin, stranger);
  anyplace::register_plugin(other.plugin);
  check_refused(other.plugin, other.plugin + " belongs to the user 12345");
}

TEST_CASE("Engines, layers and compilers of another user are refused") {
  if (!is_root()) return;
  const Folder folder;
  for (const char* const kind : {"engine", "layer", "compiler"}) {
    const std::string file = folder.file(std::string("libanyplace_") + kind + "_planted.so");
    std::filesystem::copy_file(anyplace_test::built_plugin("plain"), file);
    give(file, stranger);
  }
  search_in(folder.path());
  const auto check = [](const auto& all) {
    for (const auto& one : all) {
      if (one.name != "planted") continue;
      CHECK_FALSE(one.usable);
      CHECK_THAT(one.reason, Contains(one.plugin + " belongs to the user 12345") && Contains("docs/places.md#trust"));
      CHECK_FALSE(is_loaded(one.plugin));
      return;
    }
    FAIL("it isn't listed");
  };
  check(anyplace::communicator_engines());
  check(anyplace::layers());
  check(anyplace::compilers());
}

TEST_CASE("Neither the library's own folder nor the installed one is searched where they are another user's") {
  if (!is_root()) return;
  const MovedLibrary library;
  const std::string installed = library.file(anyplace_test::plugin_folder());
  std::filesystem::create_directory(installed);
  for (const std::string& folder : {library.path(), installed}) {
    std::filesystem::copy_file(
        anyplace_test::built_plugin("plain"),
        folder + "/libanyplace_backend_in_" + (folder == installed ? "installed" : "own") + ".so");
  }
  CHECK_THAT(library.said(), Contains("backend in_own") && Contains("backend in_installed"));
  give(installed, stranger);
  CHECK_THAT(library.said(), Contains("backend in_own") && !Contains("backend in_installed") &&
                                 Contains("problem " + installed + ": " + installed + " belongs to the user 12345"));
  give(installed, 0);
  give(library.path(), stranger);
  CHECK_THAT(library.said(), !Contains("backend in_") && Contains("problem " + library.path() + ": " + library.path() +
                                                                  " belongs to the user 12345"));
}

TEST_CASE("Where there is no folder to search the error of a backend says so, and why") {
  if (!is_root()) return;
  const MovedLibrary library;
  give(library.path(), stranger);
  const std::string said = library.said({"", "cpu_sim"});
  CHECK_THAT(said,
             Contains("there is no backend cpu_sim") && !Contains("is in no directory") &&
                 Contains("not searched: " + library.path() + ": " + library.path() + " belongs to the user 12345"));
  // The folder that plugins are installed in may be there, and is searched then.
  if (said.find("is in /") == said.npos) {
    CHECK_THAT(said,
               Contains("libanyplace_backend_cpu_sim.so was looked for nowhere: there is no directory to search"));
  }
}

TEST_CASE("A process that isn't root's takes plugins of its own user and of root's alone") {
  if (!is_root()) return;
  const auto outcome = [](const Planted& folder) {
    return anyplace_test::run_child([&] {
             if (::setresuid(somebody, somebody, somebody) != 0) ::_exit(1);
             search_in(folder.path());
             try {
               std::fprintf(stderr, "index %d", anyplace::Device("planted:0").index());
             } catch (const anyplace::Error& error) {
               std::fprintf(stderr, "%s", error.what());
             }
             ::_exit(0);
           })
        .err;
  };
  const Planted roots, own, other;
  for (const Planted* const folder : {&roots, &own, &other}) allow(folder->plugin, 0644);
  for (const std::string& path : {own.plugin, own.path()}) give(path, somebody);
  give(other.plugin, stranger);
  CHECK(outcome(roots) == "index 0");
  CHECK(outcome(own) == "index 0");
  CHECK_THAT(outcome(other), Contains(other.plugin + " belongs to the user 12345") && Contains("from the user 12346"));
}

TEST_CASE("ANYPLACE_TRUSTED_FOLDERS lets plugins of another user be loaded") {
  if (!is_root()) return;
  const Planted folder;
  for (const std::string& path : {folder.plugin, folder.path()}) give(path, stranger);
  search_in(folder.path());
  set_variable("ANYPLACE_TRUSTED_FOLDERS", folder.path());
  CHECK(problem_with(folder.path()) == "");
  CHECK(anyplace::Device("planted:0").index() == 0);
}

TEST_CASE("Relative and missing folders of ANYPLACE_TRUSTED_FOLDERS trust nothing and are said") {
  set_variable("ANYPLACE_TRUSTED_FOLDERS", "plugins::/nonexistent/plugins");
  CHECK_THAT(problem_with("plugins"), Contains("ANYPLACE_TRUSTED_FOLDERS takes absolute folders only"));
  CHECK_THAT(problem_with("/nonexistent/plugins"), Contains("ANYPLACE_TRUSTED_FOLDERS") && Contains("No such file"));
}

TEST_CASE("A plugin on a file system that is mounted noexec is refused with that reason") {
  const Folder folder;
  const test::Ended ended = anyplace_test::run_child([&] {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", folder.path().c_str(), "tmpfs", MS_NOEXEC, "mode=0755") != 0) {
      ::_exit(77);
    }
    anyplace_test::add_mimic(folder, "planted", "good");
    search_in(folder.path());
    std::fprintf(stderr, "%s", device_error("planted:0").what());
    ::_exit(0);
  });
  if (ended.status == 77) {
    std::printf("ANYPLACE_TEST_SKIPPED: nothing can be mounted here\n");
    return;
  }
  CHECK(ended.status == 0);
  CHECK_THAT(ended.err, Contains("its file system is mounted noexec") && Contains("mount that one without noexec"));
}

}  // namespace trust_cases
