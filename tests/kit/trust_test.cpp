// SPDX-License-Identifier: Apache-2.0
// Which paths code is loaded from (kit/trust.h): who may own and write what is on the way.
#include <sched.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>

#include "anyplace/backend/kit/trust.h"
#include "support/environment.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace trust_test {

using anyplace::backend::distrust_of;
using Catch::Contains;
using test::TempDir;

constexpr uid_t stranger = 12345, somebody = 12346;

/// Only root gives files to others.
bool is_root() {
  if (::geteuid() == 0) return true;
  std::printf("ANYPLACE_TEST_SKIPPED: only root can give files to another user\n");
  return false;
}

void give(const std::string& path, uid_t owner) { REQUIRE(::lchown(path.c_str(), owner, owner) == 0); }
void allow(const std::string& path, mode_t mode) { REQUIRE(::chmod(path.c_str(), mode) == 0); }

/// A folder with a folder `plugins` with a file `code`, which root or this process's user owns and everybody may read.
struct Tree : TempDir {
  const std::string folder = file("plugins"), code = folder + "/code";
  Tree() {
    std::filesystem::create_directory(folder);
    test::write_file(code, "");
    allow(path(), 0755);
    allow(folder, 0755);
    allow(code, 0644);
  }
};

std::string problem_of(const std::string& path) { return distrust_of(path).problem; }

/// What a process of that user finds at the path.
std::string problem_as(uid_t user, const std::string& path) {
  const test::Ended ended = test::in_child([&] {
    if (::setresuid(user, user, user) != 0) return 1;
    std::printf("%s", problem_of(path).c_str());
    return 0;
  });
  CHECK(ended.status == 0);
  return ended.out;
}

TEST_CASE("Code of root's and of the process's own user is trusted, and so is the way to it") {
  const Tree tree;
  CHECK(problem_of(tree.code) == "");
  CHECK(problem_of(tree.folder) == "");
  CHECK(problem_of(tree.folder + "/../plugins/./code") == "");
  CHECK(problem_of("/") == "");
  if (!is_root()) return;
  CHECK(problem_as(somebody, tree.code) == "");
  for (const std::string& path : {tree.folder, tree.code}) give(path, somebody);
  CHECK(problem_as(somebody, tree.code) == "");
}

TEST_CASE("A file, its folder or a folder above of another user is not trusted") {
  if (!is_root()) return;
  for (const char* const name : {"plugins/code", "plugins", "."}) {
    const Tree tree;
    const std::string part = std::filesystem::path(tree.file(name)).lexically_normal();
    const std::string given = part.ends_with('/') ? part.substr(0, part.size() - 1) : part;
    give(given, stranger);
    const auto found = distrust_of(tree.code);
    CHECK_THAT(found.problem, Contains(given + " belongs to the user 12345, and code is taken from root alone"));
    CHECK_THAT(found.remedy, Contains("chown it to root;") && Contains("ANYPLACE_TRUSTED_FOLDERS"));
    CHECK_THAT(problem_as(somebody, tree.code), Contains("from root and from the user 12346"));
    CHECK(problem_as(stranger, tree.code) == "");
  }
}

TEST_CASE("A file, its folder or a folder above that every user may write is not trusted") {
  for (const char* const name : {"plugins/code", "plugins", ""}) {
    const Tree tree;
    const std::string part = *name == '\0' ? tree.path().string() : tree.file(name);
    allow(part, 0757);
    const auto found = distrust_of(tree.code);
    CHECK(found.problem == part + " may be written by every user (its mode is 0757)");
    CHECK_THAT(found.remedy, Contains("chmod go-w " + part));
  }
}

TEST_CASE("Of folders with the sticky bit the way may lead through one, but code may not be in it") {
  const Tree tree;
  allow(tree.path(), 01777);
  CHECK(problem_of(tree.code) == "");
  allow(tree.path(), 0755);
  allow(tree.folder, 01777);
  const auto found = distrust_of(tree.code);
  CHECK(found.problem == tree.folder + " may be written by every user (its mode is 1777)");
  CHECK_THAT(found.remedy, Contains("a folder of its own"));
  CHECK(problem_of(tree.folder) == found.problem);
}

TEST_CASE("What a group may write is trusted where the owner alone is in it") {
  if (!is_root()) return;
  const Tree tree;
  allow(tree.folder, 0775);
  CHECK(problem_of(tree.code) == "");  // root's own group
  REQUIRE(::chown(tree.folder.c_str(), 0, 12345) == 0);
  CHECK_THAT(problem_of(tree.code), Contains(tree.folder + " may be written by the group 12345"));
  allow(tree.folder, 0755);
  allow(tree.code, 0664);
  REQUIRE(::chown(tree.code.c_str(), 0, 12345) == 0);
  CHECK_THAT(problem_of(tree.code), Contains(tree.code + " may be written by the group 12345"));
}

TEST_CASE("An access control list that lets somebody write is not trusted") {
  if (!is_root()) return;
  const Tree tree;
  // acl(5): version 2; the owner, user 12345, the group, the mask, others: each with a tag, rights and a number.
  const unsigned char list[] = {2, 0,    0,    0,    1,    0,    6,    0, 0xff, 0xff, 0xff, 0xff, 2,    0,    6,
                                0, 0x39, 0x30, 0,    0,    4,    0,    4, 0,    0xff, 0xff, 0xff, 0xff, 0x10, 0,
                                6, 0,    0xff, 0xff, 0xff, 0xff, 0x20, 0, 4,    0,    0xff, 0xff, 0xff, 0xff};
  if (::setxattr(tree.code.c_str(), "system.posix_acl_access", list, sizeof(list), 0) != 0) {
    std::printf("ANYPLACE_TEST_SKIPPED: the temporary directory's file system has no access control lists\n");
    return;
  }
  CHECK_THAT(problem_of(tree.code), Contains("may be written by those of its access control list"));
}

TEST_CASE("A link is followed, and is trusted as its owner and its target are") {
  const Tree tree;
  std::filesystem::create_symlink("plugins", tree.file("near"));
  std::filesystem::create_symlink(tree.code, tree.file("far"));
  CHECK(problem_of(tree.file("near") + "/code") == "");
  CHECK(problem_of(tree.file("near")) == "");
  CHECK(problem_of(tree.file("far")) == "");
  allow(tree.folder, 0757);
  CHECK_THAT(problem_of(tree.file("near")), Contains(tree.folder + " may be written by every user"));
  CHECK_THAT(problem_of(tree.file("far")), Contains(tree.folder + " may be written by every user"));
  allow(tree.folder, 0755);
  if (!is_root()) return;
  give(tree.file("near"), stranger);
  const auto found = distrust_of(tree.file("near") + "/code");
  CHECK_THAT(found.problem, Contains(tree.file("near") + " belongs to the user 12345"));
  CHECK_THAT(found.remedy, Contains("chown -h"));
}

TEST_CASE("A path that leads nowhere is not trusted, since another user could complete it") {
  const Tree tree;
  std::filesystem::create_symlink("nowhere", tree.file("dangling"));
  std::filesystem::create_symlink("loop", tree.file("loop"));
  CHECK(distrust_of(tree.folder + "/nothing").error == ENOENT);
  CHECK_THAT(problem_of(tree.file("dangling")), Contains("nowhere can't be looked at"));
  CHECK_THAT(problem_of(tree.file("loop")), Contains("Too many levels"));
  CHECK(distrust_of(tree.code + "/below").error == ENOTDIR);
}

TEST_CASE("ANYPLACE_TRUSTED_FOLDERS makes its folders and what is in them trusted, and nothing beside them") {
  const Tree tree;
  allow(tree.folder, 0757);
  std::filesystem::create_directory_symlink(tree.folder, tree.file("link"));
  for (const std::string& value :
       {tree.folder, tree.file("link"), tree.path().string(), std::string("/"),
        ":relative:/nonexistent:" + tree.folder + "/:", "/" + std::string(5000, 'x') + ":" + tree.folder}) {
    CAPTURE(value.substr(0, 100));
    test::set_env("ANYPLACE_TRUSTED_FOLDERS", value);
    CHECK(problem_of(tree.code) == "");
    CHECK(problem_of(tree.folder) == "");
  }
  for (const std::string& value :
       {tree.folder + "x", tree.folder.substr(0, tree.folder.size() - 1), std::string("plugins"), std::string(":")}) {
    CAPTURE(value);
    test::set_env("ANYPLACE_TRUSTED_FOLDERS", value);
    CHECK_THAT(problem_of(tree.code), Contains("every user"));
  }
  // So is the way to them, but not the way to what is beside them.
  test::set_env("ANYPLACE_TRUSTED_FOLDERS", tree.folder);
  std::filesystem::create_directory(tree.file("beside"));
  allow(tree.file("beside"), 0755);
  allow(tree.path(), 0757);
  CHECK(problem_of(tree.code) == "");
  CHECK_THAT(problem_of(tree.file("beside")), Contains(tree.path().string() + " may be written"));
  CHECK(problem_of(tree.file("beside") + "/../plugins/code") == "");
  // A link on the way could lead elsewhere a moment later.
  std::filesystem::create_symlink("plugins", tree.file("near"));
  if (::geteuid() == 0) {
    give(tree.file("near"), stranger);
    CHECK_THAT(problem_of(tree.file("near") + "/code"), Contains(tree.file("near") + " belongs to the user 12345"));
  }
  ::unsetenv("ANYPLACE_TRUSTED_FOLDERS");
}

TEST_CASE("In a user namespace an owner without a number there is not trusted with code unless the library is theirs") {
  if (!is_root()) return;
  const Tree tree;
  const auto problem_inside = [&](const std::string& path) {
    return test::in_child([&] {
      const uid_t user = ::geteuid();
      if (::unshare(CLONE_NEWUSER) != 0) return 77;
      test::write_file("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
      std::printf("%s", problem_of(path).c_str());
      return 0;
    });
  };
  const test::Ended own = problem_inside(tree.code);
  if (own.status == 77) {
    std::printf("ANYPLACE_TEST_SKIPPED: no user namespace can be made here\n");
    return;
  }
  CHECK(own.out == "");
  give(tree.path(), stranger);  // on the way there is what the system's own folders look like
  CHECK(problem_inside(tree.code).out == "");
  give(tree.code, stranger);
  CHECK_THAT(problem_inside(tree.code).out, Contains("a user outside of this user namespace"));
}

}  // namespace trust_test
