// SPDX-License-Identifier: Apache-2.0
// Files that are no plugin for this process: each is refused with its own reason before any of it runs, and nothing
// else is held up by it.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "anyplace/anyplace.h"
#include "loader/files.h"

namespace refused_files_cases {

using anyplace::ErrorCode;
using anyplace_test::built_plugin;
using anyplace_test::device_error;
using anyplace_test::Folder;
using anyplace_test::read_file;
using anyplace_test::search_in;
using anyplace_test::write_file;
using Catch::Contains;

namespace {

/// Asks for the backend `name` of `folder`; gives the reason that was kept for its file.
std::string reason_of(const Folder& folder, const std::string& name) {
  search_in(folder.path());
  const anyplace::Error error = device_error(name + ":0");
  CHECK(error.code() == ErrorCode::no_such_backend);
  const auto candidate = anyplace_test::candidate_at(folder.plugin(name));
  REQUIRE(candidate.has_value());
  CHECK(candidate->state == anyplace::PluginCandidate::State::refused);
  CHECK(candidate->code != ErrorCode::ok);
  CHECK_THAT(error.text(), Contains(folder.plugin(name)) && Contains(candidate->reason));
  // It is no harm to anybody else.
  CHECK(anyplace::Device("cpu_sim:0").index() == 0);
  return candidate->reason;
}

constexpr std::size_t class_offset = 4;
constexpr std::size_t order_offset = 5;
constexpr std::size_t type_offset = 16;
constexpr std::size_t machine_offset = 18;

/// A copy of a good plugin with some of its bytes replaced.
void patch_plugin(const Folder& folder, const std::string& name, std::size_t offset, std::string_view bytes) {
  std::string file = read_file(built_plugin("plain"));
  file.replace(offset, bytes.size(), bytes);
  write_file(folder.plugin(name), file);
}

}  // namespace

TEST_CASE("An empty file is refused") {
  const Folder folder;
  write_file(folder.plugin("bad"), "");
  CHECK_THAT(reason_of(folder, "bad"), Contains("empty"));
}

TEST_CASE("A file that is no ELF file is refused") {
  const Folder folder;
  write_file(folder.plugin("text"), "#!/bin/sh\necho not a plugin\n");
  write_file(folder.plugin("letter"), "x");
  CHECK_THAT(reason_of(folder, "text"), Contains("not a shared object"));
  CHECK_THAT(reason_of(folder, "letter"), Contains("not a shared object"));
}

TEST_CASE("A truncated plugin is refused however long it is") {
  const Folder folder;
  const std::string whole = read_file(built_plugin("plain"));
  const std::vector<std::size_t> lengths{1,
                                         3,
                                         4,
                                         10,
                                         16,
                                         19,
                                         20,
                                         40,
                                         63,
                                         64,
                                         65,
                                         100,
                                         500,
                                         600,
                                         1000,
                                         4096,
                                         4097,
                                         8192,
                                         whole.size() / 2,
                                         whole.size() - 1};
  for (const std::size_t length : lengths) {
    if (length >= whole.size()) continue;
    CAPTURE(length);
    const std::string name = "cut" + std::to_string(length);
    write_file(folder.plugin(name), whole.substr(0, length));
    CHECK_THAT(reason_of(folder, name), Contains("truncated"));
  }
}

TEST_CASE("A plugin for another machine is refused with the name of that machine") {
  using namespace std::string_view_literals;
  const Folder folder;
#if defined(__aarch64__)
  patch_plugin(folder, "other", machine_offset, "\x3e\0"sv);
  CHECK_THAT(reason_of(folder, "other"), Contains("built for x86-64") && Contains("runs on aarch64"));
#else
  patch_plugin(folder, "other", machine_offset, "\xb7\0"sv);
  CHECK_THAT(reason_of(folder, "other"), Contains("built for aarch64") && Contains("runs on"));
#endif
  const std::pair<std::string_view, const char*> machines[] = {
      {"\xf3\0"sv, "riscv"}, {"\x15\0"sv, "ppc64"}, {"\x16\0"sv, "s390x"}, {"\x28\0"sv, "arm"}, {"\x34\x12"sv, "4660"}};
  for (const auto& [number, name] : machines) {
    CAPTURE(name);
    const std::string plugin = std::string("m") + name;
    patch_plugin(folder, plugin, machine_offset, number);
    CHECK_THAT(reason_of(folder, plugin), Contains(name));
  }
}

TEST_CASE("A plugin of another word size or byte order is refused") {
  using namespace std::string_view_literals;
  const Folder folder;
  patch_plugin(folder, "narrow", class_offset, "\x01"sv);
  patch_plugin(folder, "turned", order_offset, "\x02"sv);
  patch_plugin(folder, "wrong", class_offset, "\x07"sv);
  CHECK_THAT(reason_of(folder, "narrow"), Contains("32 bits"));
  CHECK_THAT(reason_of(folder, "turned"), Contains("big endian"));
  CHECK_THAT(reason_of(folder, "wrong"), Contains("damaged"));
}

TEST_CASE("A file that is ELF but no shared object is refused") {
  using namespace std::string_view_literals;
  const Folder folder;
  patch_plugin(folder, "object", type_offset, "\x01\0"sv);
  patch_plugin(folder, "program", type_offset, "\x02\0"sv);
  patch_plugin(folder, "core", type_offset, "\x04\0"sv);
  patch_plugin(folder, "unheard", type_offset, "\x77\0"sv);
  CHECK_THAT(reason_of(folder, "object"), Contains("object file"));
  CHECK_THAT(reason_of(folder, "program"), Contains("program"));
  CHECK_THAT(reason_of(folder, "core"), Contains("core dump"));
  CHECK_THAT(reason_of(folder, "unheard"), Contains("ELF type"));
}

TEST_CASE("A shared object without the entry is refused") {
  const Folder folder;
  anyplace_test::copy_plugin("nosymbol", folder, "nosymbol");
  CHECK_THAT(reason_of(folder, "nosymbol"), Contains("lacks the symbol anyplace_backend_entry"));
}

TEST_CASE("A FIFO in a plugin's place is refused and doesn't hang") {
  const Folder folder;
  REQUIRE(::mkfifo(folder.plugin("pipe").c_str(), 0600) == 0);
  CHECK_THAT(reason_of(folder, "pipe"), Contains("FIFO"));
}

TEST_CASE("A directory in a plugin's place is refused") {
  const Folder folder;
  std::filesystem::create_directory(folder.plugin("folder"));
  CHECK_THAT(reason_of(folder, "folder"), Contains("directory"));
}

TEST_CASE("A device in a plugin's place is refused unopened") {
  const Folder folder;
  std::filesystem::create_symlink("/dev/zero", folder.plugin("zero"));
  CHECK_THAT(reason_of(folder, "zero"), Contains("device"));
}

TEST_CASE("A file that can't be read is refused") {
  if (::geteuid() == 0) {
    WARN("root reads every file: nothing to see here");
    return;
  }
  const Folder folder;
  anyplace_test::copy_plugin("plain", folder, "locked");
  std::filesystem::permissions(folder.plugin("locked"), std::filesystem::perms::none);
  CHECK_THAT(reason_of(folder, "locked"), Contains("Permission denied"));
}

TEST_CASE("A link to nowhere is refused") {
  const Folder folder;
  std::filesystem::create_symlink(folder.file("nowhere.so"), folder.plugin("dangling"));
  CHECK_THAT(reason_of(folder, "dangling"), Contains("symbolic link"));
}

TEST_CASE("One file under two names is loaded once") {
  const Folder folder;
  anyplace_test::add_mimic(folder, "one", "good");
  std::filesystem::create_hard_link(folder.plugin("one"), folder.plugin("two"));
  search_in(folder.path());
  CHECK(anyplace::Device("one").index() == 0);
  CHECK_THAT(reason_of(folder, "two"), Contains("same file"));
}

TEST_CASE("A refused plugin stays refused with the same reason") {
  const Folder folder;
  write_file(folder.plugin("bad"), "");
  const std::string before = reason_of(folder, "bad");
  anyplace_test::copy_plugin("mimic", folder, "bad");
  CHECK(reason_of(folder, "bad") == before);
}

}  // namespace refused_files_cases
