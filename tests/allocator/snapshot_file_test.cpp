// SPDX-License-Identifier: Apache-2.0
// write_memory_snapshot: the file is there whole, or is what it was before, and nothing is left beside it.
#include <anyplace/anyplace.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "support/errors.h"
#include "support/temp_dir.h"

namespace snapshot_file_test {

namespace fs = std::filesystem;
using anyplace::Device;
using anyplace::ErrorCode;
using anyplace::SnapshotFormat;
using anyplace::write_memory_snapshot;
using Catch::Contains;

namespace {

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t entries_of(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

/// The text of the invalid_argument that it is refused with.
std::string refused(const Device& device, const std::string& path) {
  const std::optional<anyplace::Error> error = test::error_of([&] { write_memory_snapshot(device, path); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::invalid_argument);
  CHECK(error->place() == "cpu_sim:0");
  return error->what();
}

}  // namespace

TEST_CASE("a snapshot goes to a file, as a pickle or as JSON") {
  const Device device("cpu_sim:0");
  const anyplace::Buffer buffer(device, 1000);
  const test::TempDir folder;
  write_memory_snapshot(device, folder / "snapshot.pickle");
  write_memory_snapshot(device, folder / "snapshot.json", SnapshotFormat::json);
  CHECK(contents(folder / "snapshot.pickle") == anyplace::memory_snapshot(device, anyplace::SnapshotFormat::pickle));
  CHECK(nlohmann::json::parse(contents(folder / "snapshot.json")).contains("segments"));
  CHECK(entries_of(folder.path()) == 2);
}

TEST_CASE("a file that is there is replaced, with its permissions and behind its link") {
  const Device device("cpu_sim:0");
  const test::TempDir folder;
  const fs::path file = folder.write("real", "before");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
  fs::create_symlink("real", folder / "link");
  write_memory_snapshot(device, folder / "link");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(contents(file) == anyplace::memory_snapshot(device, anyplace::SnapshotFormat::pickle));
  CHECK(fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read));
  CHECK(entries_of(folder.path()) == 2);
}

TEST_CASE("a new file's permissions follow the umask") {
  const Device device("cpu_sim:0");
  const test::TempDir folder;
  ::umask(027);
  write_memory_snapshot(device, folder / "new");
  CHECK(fs::status(folder / "new").permissions() ==
        (fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read));
}

TEST_CASE("a name as long as names can be is fine") {
  const Device device("cpu_sim:0");
  const test::TempDir folder;
  write_memory_snapshot(device, folder / std::string(255, 'n'));
  CHECK(entries_of(folder.path()) == 1);
  CHECK_THAT(refused(device, folder / std::string(256, 'n')), Contains("too long"));
  CHECK(entries_of(folder.path()) == 1);
}

TEST_CASE("a path that can't be written is refused with the path and the reason") {
  const Device device("cpu_sim:0");
  const test::TempDir folder;
  folder.write("file", "before");

  const std::string missing = folder / "missing/snapshot";
  CHECK_THAT(refused(device, missing), Contains(missing) && Contains("No such file or directory"));
  CHECK_THAT(refused(device, folder / "file/snapshot"), Contains("Not a directory"));
  CHECK_THAT(refused(device, folder.path()), Contains("Is a directory"));
  CHECK_THAT(refused(device, ""), Contains("No such file or directory"));
  CHECK_THAT(refused(device, "/dev/full"), Contains("/dev/full") && Contains("no regular file"));
  CHECK_THAT(refused(device, "/proc/anyplace"), Contains("/proc/anyplace"));
  CHECK_THAT(refused(device, std::string(folder / "a") + '\0' + "b"), Contains("NUL"));
  CHECK(contents(folder / "file") == "before");
  CHECK(entries_of(folder.path()) == 1);
}

TEST_CASE("a folder that may not be written to is refused") {
  if (::geteuid() == 0) {
    std::cout << "ANYPLACE_TEST_SKIPPED: root may write anywhere\n";
    return;
  }
  const Device device("cpu_sim:0");
  const test::TempDir folder;
  folder.write("file", "before");
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  CHECK_THAT(refused(device, folder / "file"), Contains("Permission denied"));
  CHECK_THAT(refused(device, folder / "new"), Contains("Permission denied"));
  fs::permissions(folder.path(), fs::perms::owner_all);
  CHECK(entries_of(folder.path()) == 1);
}

TEST_CASE("a snapshot that doesn't fit leaves the file as it was") {
  const Device device("cpu_sim:0");
  const anyplace::Buffer buffer(device, 1000);
  const test::TempDir folder;
  folder.write("file", "before");
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{100, 100};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
  CHECK_THAT(refused(device, folder / "file"), Contains("File too large"));
  CHECK_THAT(refused(device, folder / "new"), Contains("File too large"));
  CHECK(contents(folder / "file") == "before");
  CHECK(entries_of(folder.path()) == 1);
}

TEST_CASE("a format that doesn't exist is refused before anything is written") {
  const Device device("cpu_sim:0");
  const test::TempDir folder;
  CHECK(test::code_of([&] { write_memory_snapshot(device, folder / "new", static_cast<SnapshotFormat>(2)); }) ==
        ErrorCode::invalid_argument);
  CHECK(test::code_of([&] { anyplace::memory_snapshot(device, static_cast<SnapshotFormat>(-1)); }) ==
        ErrorCode::invalid_argument);
  CHECK(entries_of(folder.path()) == 0);
}

}  // namespace snapshot_file_test
