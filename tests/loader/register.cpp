// SPDX-License-Identifier: Apache-2.0
// register_plugin: a path given by the application comes before everything that is searched.
#include <catch2/catch.hpp>
#include <string>

#include "anyplace/anyplace.h"
#include "loader/files.h"

namespace register_cases {

using anyplace::Device;
using anyplace::ErrorCode;
using anyplace::register_plugin;
using anyplace_test::candidate_at;
using anyplace_test::error_of;
using anyplace_test::Folder;
using Catch::Contains;

TEST_CASE("A registered plugin is found where no search looks") {
  register_plugin(anyplace_test::built_plugin("plain"));
  const auto candidate = candidate_at(anyplace_test::built_plugin("plain"));
  REQUIRE(candidate.has_value());
  CHECK(candidate->source == anyplace::PluginCandidate::Source::registered);
  CHECK(candidate->state == anyplace::PluginCandidate::State::unopened);
  CHECK(Device("plain:0").index() == 0);
}

TEST_CASE("A registered plugin comes before one of the path variable and the newest before older ones") {
  const Folder searched;
  const Folder older;
  const Folder newer;
  for (const Folder* const folder : {&searched, &older, &newer}) anyplace_test::add_mimic(*folder, "mine", "good");
  anyplace_test::search_in(searched.path());
  register_plugin(older.plugin("mine"));
  register_plugin(newer.plugin("mine"));
  CHECK(anyplace::backend_info("mine").path == newer.plugin("mine"));
}

TEST_CASE("A relative path is taken from the current directory at the call") {
  const Folder folder;
  anyplace_test::add_mimic(folder, "mine", "good");
  std::filesystem::current_path(folder.path());
  register_plugin("./libanyplace_backend_mine.so");
  std::filesystem::current_path("/");
  CHECK(anyplace::backend_info("mine").path == folder.plugin("mine"));
}

TEST_CASE("Paths that can't be plugins are invalid_argument") {
  const Folder folder;
  anyplace_test::write_file(folder.file("libfoo.so"), "");
  anyplace_test::write_file(folder.file("libanyplace_backend_Foo.so"), "");
  std::filesystem::create_directory(folder.plugin("directory"));
  for (const std::string& path :
       {std::string(), std::string("/"), folder.file("libfoo.so"), folder.file("libanyplace_backend_Foo.so"),
        folder.plugin("missing"), folder.plugin("directory"), std::string(1 << 20, 'x'),
        folder.plugin("a") + std::string(1, '\0'), "/" + std::string(5000, 'x') + "/libanyplace_backend_a.so"}) {
    CAPTURE(path.substr(0, 100));
    const anyplace::Error error = error_of([&] { register_plugin(path); });
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(error.text().size() < 1000);
  }
}

TEST_CASE("A backend that is in use can't be replaced") {
  const Folder folder;
  anyplace_test::add_mimic(folder, "cpu_sim", "good");
  CHECK(Device("cpu_sim").index() == 0);
  const anyplace::Error error = error_of([&] { register_plugin(folder.plugin("cpu_sim")); });
  CHECK(error.code() == ErrorCode::invalid_argument);
  CHECK_THAT(error.text(), Contains("in use") && Contains(anyplace::backend_info("cpu_sim").path));
  register_plugin(anyplace::backend_info("cpu_sim").path);
}

TEST_CASE("A refused backend is tried again only when another file is registered") {
  const Folder first;
  const Folder second;
  anyplace_test::write_file(first.plugin("mine"), "");
  anyplace_test::search_in(first.path());
  CHECK(anyplace_test::device_error("mine").code() == ErrorCode::no_such_backend);
  register_plugin(first.plugin("mine"));
  CHECK(anyplace_test::device_error("mine").code() == ErrorCode::no_such_backend);
  anyplace_test::add_mimic(second, "mine", "good");
  register_plugin(second.plugin("mine"));
  CHECK(Device("mine").index() == 0);
}

TEST_CASE("The entry of a plugin is called once however often it is asked for") {
  const Folder folder;
  anyplace_test::add_mimic(folder, "shy", "once=" + folder.file("was_here"));
  anyplace_test::search_in(folder.path());
  CHECK(Device("shy").index() == 0);
  CHECK(Device("shy:0").index() == 0);
  CHECK(anyplace::device_count("shy") == 1);
}

}  // namespace register_cases
