// SPDX-License-Identifier: Apache-2.0
// `anyplace new-backend`: what it writes, what it refuses, and that it leaves nothing behind when it can't go on. That
// what it writes builds and conforms is shown by tests/conformance and, against an installed tree, by tests/install.
#include <anyplace/version.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "run_command.h"
#include "support/temp_dir.h"

namespace new_backend_test {

using namespace anyplace::test;
namespace fs = std::filesystem;

namespace {

/// Runs it with the project in a directory of the test's.
Run new_backend(const std::string& name, const fs::path& directory, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"new-backend", name, "--directory", directory.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_command(arguments);
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::set<std::string> files_of(const fs::path& project) {
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(project)) {
    if (entry.is_regular_file()) files.insert(entry.path().lexically_relative(project).string());
  }
  return files;
}

}  // namespace

TEST_CASE("new-backend writes a whole project and says what to type next") {
  const test::TempDir folder;
  const Run run = new_backend("acme", folder / "acme");
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  CHECK(contains(run.out, "cmake -G Ninja -B b"));
  CHECK(contains(run.out, "anyplace conformance --place acme:0 --plugin b/libanyplace_backend_acme.so"));
  const std::set<std::string> files = files_of(folder / "acme");
  for (const char* file : {"CMakeLists.txt", "README.md", "LICENSE", "ci.sh", ".gitignore", "tests/CMakeLists.txt",
                           "src/backend.cpp", "src/stream.h", "src/stream.cpp"}) {
    CAPTURE(file);
    CHECK(files.count(file) == 1);
  }
  CHECK((fs::status(folder / "acme/ci.sh").permissions() & fs::perms::owner_exec) != fs::perms::none);
  CHECK((fs::status(folder / "acme/README.md").permissions() & fs::perms::owner_exec) == fs::perms::none);
}

TEST_CASE("new-compiler writes a whole project, and refuses the names of anyplace's own compilers") {
  const test::TempDir folder;
  const Run run = run_command({"new-compiler", "acme", "--directory", folder.file("acme")});
  INFO(run.err);
  CHECK(run.status == 0);
  CHECK(contains(run.out, "./check.sh \"$(command -v anyplace)\" acme native"));
  CHECK(files_of(folder / "acme") == std::set<std::string>{".gitignore", "CMakeLists.txt", "LICENSE", "README.md",
                                                           "check.sh", "ci.sh", "src/compiler.cpp"});
  CHECK(contains(text_of(folder / "acme/src/compiler.cpp"), "ACME_COMPILER_VERSION"));
  CHECK_FALSE(contains(text_of(folder / "acme/CMakeLists.txt"), "newname"));
  CHECK((fs::status(folder / "acme/check.sh").permissions() & fs::perms::owner_exec) != fs::perms::none);
  for (const char* const wrong : {"nvrtc", "host", "Acme", ""}) {
    CAPTURE(wrong);
    const Run refused = run_command({"new-compiler", wrong, "--directory", folder.file("other")});
    CHECK(refused.status == 2);
    CHECK_FALSE(fs::exists(folder / "other"));
  }
  CHECK(run_command({"new-compiler", "acme", "--directory", folder.file("acme")}).status == 1);
}

TEST_CASE("new-backend --c writes the same project in C") {
  const test::TempDir folder;
  REQUIRE(new_backend("acme", folder / "cpp").status == 0);
  REQUIRE(new_backend("acme", folder / "c", {"--c"}).status == 0);
  const std::set<std::string> files = files_of(folder / "c");
  for (const std::string& file : files) {
    CAPTURE(file);
    CHECK(fs::path(file).extension() != ".cpp");
  }
  for (std::string file : files_of(folder / "cpp")) {
    if (file == "src/handle.h") continue;  // C has no shares to hand out
    if (fs::path(file).extension() == ".cpp") file = fs::path(file).replace_extension(".c").string();
    CAPTURE(file);
    CHECK(files.count(file) == 1);
  }
}

TEST_CASE("new-backend names everything after the backend") {
  const test::TempDir folder;
  const std::string kind = GENERATE("--c", "");
  REQUIRE(new_backend("my_dev2", folder / "x", kind.empty() ? std::vector<std::string>{} : std::vector{kind}).status ==
          0);
  std::string all;
  for (const std::string& file : files_of(folder / "x")) all += text_of(folder / "x" / file);
  for (const char* left : {"newname", "Newname", "NEWNAME", "NEWEXTENSION", "NEWLANGUAGE", "NEWVERSION"}) {
    CAPTURE(left);
    CHECK_FALSE(contains(all, left));
  }
  CHECK(contains(all, kind.empty() ? "class MyDev2Backend final" : ".name = \"my_dev2\""));
  CHECK(contains(all, "MY_DEV2_BACKEND_VERSION"));
  CHECK(contains(all, "anyplace_add_backend(my_dev2"));
  // The package is compatible within a minor version.
  const std::string version = ANYPLACE_VERSION;
  CHECK(contains(all, "find_package(anyplace " + version.substr(0, version.rfind('.')) + " REQUIRED"));
}

TEST_CASE("new-backend takes a name that has one of the words of its templates in it") {
  const test::TempDir folder;
  REQUIRE(new_backend("newname_newname", folder / "x").status == 0);
  CHECK(contains(text_of(folder / "x/CMakeLists.txt"), "anyplace_add_backend(newname_newname\n"));
}

TEST_CASE("new-backend refuses what is no name for a backend and says what is") {
  const test::TempDir folder;
  const std::string longest(31, 'a');
  for (const std::string& name :
       {std::string(), std::string("Acme"), std::string("acme-1"), std::string("1acme"), std::string("_acme"),
        std::string("ac/me"), std::string(".."), std::string("acme "), std::string("\xc3\xa4"), longest + "a"}) {
    CAPTURE(name);
    const Run run = new_backend(name, folder / "x");
    CHECK(run.status == 2);
    CHECK(run.out.empty());
    CHECK(contains(run.err, "31 characters at most"));
    CHECK(fs::is_empty(folder.path()));
  }
  CHECK(new_backend(longest, folder / "x").status == 0);
}

TEST_CASE("new-backend refuses the names and aliases that anyplace uses itself") {
  const test::TempDir folder;
  for (const char* name : {"cuda", "hip", "levelzero", "cpu_sim", "gpu", "nvidia", "rocm", "amd", "ze", "xpu",
                           "custom_cpu", "auto", "anyplace"}) {
    CAPTURE(name);
    const Run run = new_backend(name, folder / "x");
    CHECK(run.status == 2);
    CHECK(contains(run.err, std::string("'") + name + "' is "));
    CHECK(fs::is_empty(folder.path()));
  }
}

TEST_CASE("new-backend without a name exits 2 and shows its usage") {
  const Run run = run_command({"new-backend"});
  CHECK(run.status == 2);
  CHECK(contains(run.err, "usage: anyplace new-backend NAME"));
}

TEST_CASE("new-backend leaves alone what is there already") {
  const test::TempDir folder;
  fs::create_directory(folder / "directory");
  folder.write("file", "mine");
  fs::create_symlink("nowhere", folder / "link");
  for (const char* there : {"directory", "directory/", "file", "link"}) {
    CAPTURE(there);
    const Run run = new_backend("acme", folder / there);
    CHECK(run.status == 1);
    CHECK(contains(run.err, "is there already"));
  }
  CHECK(fs::is_empty(folder / "directory"));
  CHECK(text_of(folder / "file") == "mine");
  CHECK(files_of(folder.path()) == std::set<std::string>{"file"});
}

TEST_CASE("new-backend says why it can't make the directory") {
  const test::TempDir folder;
  folder.write("file", "");
  const Run in_file = new_backend("acme", folder / "file/acme");
  CHECK(in_file.status == 1);
  CHECK(contains(in_file.err, "Not a directory; nothing was written"));
  const Run in_nothing = new_backend("acme", folder / "missing/acme");
  CHECK(in_nothing.status == 1);
  CHECK(contains(in_nothing.err, "No such file or directory; nothing was written"));
}

TEST_CASE("new-backend leaves nothing behind when it fails half-way") {
  const test::TempDir folder;
  // Files may not grow over 4 KiB: the first that would has come after others.
  signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const rlimit small{4096, limit.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const Run run = new_backend("acme", folder / "acme");
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  CHECK(run.status == 1);
  CHECK(contains(run.err, "File too large; nothing was written"));
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("new-backend gives its files the permissions that the user lets new files have") {
  const test::TempDir folder;
  const mode_t before = umask(027);
  const Run run = new_backend("acme", folder / "acme");
  umask(before);
  REQUIRE(run.status == 0);
  const auto all = fs::perms::all;
  CHECK((fs::status(folder / "acme").permissions() & all) == static_cast<fs::perms>(0750));
  CHECK((fs::status(folder / "acme/ci.sh").permissions() & all) == static_cast<fs::perms>(0750));
  CHECK((fs::status(folder / "acme/README.md").permissions() & all) == static_cast<fs::perms>(0640));
}

}  // namespace new_backend_test
