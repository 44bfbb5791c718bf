// SPDX-License-Identifier: Apache-2.0
//
// What the tests of names and plugins need: a directory of their own, plugin files made from good ones, the environment
// that names them, the Error that a call throws, and a forked child.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "anyplace/anyplace.h"
#include "support/errors.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace anyplace_test {

using test::read_file;
using test::write_file;

class Folder : public test::TempDir {
 public:
  std::string path() const { return TempDir::path().string(); }
  /// The path of the plugin file of that name in this folder.
  std::string plugin(std::string_view name) const { return file("libanyplace_backend_" + std::string(name) + ".so"); }
};

/// The plugin file of that name that this build made for the tests.
inline std::string built_plugin(std::string_view name) {
  return std::string(ANYPLACE_TEST_PLUGINS) + "/" + std::string(name) + "/libanyplace_backend_" + std::string(name) +
         ".so";
}

/// What the folder of this version's plugins beside the library is called.
inline std::string plugin_folder() {
  return "anyplace-" + std::to_string(ANYPLACE_VERSION_MAJOR) + "." + std::to_string(ANYPLACE_VERSION_MINOR);
}

/// A copy, not a link: a plugin's file is loaded once in a process.
inline std::string copy_plugin(std::string_view built, const Folder& folder, std::string_view name) {
  REQUIRE(std::filesystem::exists(built_plugin(built)));
  write_file(folder.plugin(name), read_file(built_plugin(built)));
  return folder.plugin(name);
}

inline void set_variable(const std::string& name, const std::string& value) {
  REQUIRE(::setenv(name.c_str(), value.c_str(), 1) == 0);
}

inline void search_in(const std::string& directories) { set_variable("ANYPLACE_BACKEND_PATH", directories); }

/// A copy of the mimic plugin under `name` that misbehaves as told; plugins/mimic.c lists the behaviours.
inline std::string add_mimic(const Folder& folder, const std::string& name, const std::string& behaviour) {
  set_variable("MIMIC_" + name, behaviour);
  return copy_plugin("mimic", folder, name);
}

/// What `call` throws, which must be an Error.
inline anyplace::Error error_of(const std::function<void()>& call) { return test::required_error(call); }

/// The Error of making a Device of that place.
inline anyplace::Error device_error(const std::string& place) {
  return error_of([&] { const anyplace::Device device(place); });
}

inline std::optional<anyplace::PluginCandidate> candidate_at(const std::string& path) {
  for (const anyplace::PluginCandidate& candidate : anyplace::plugin_candidates()) {
    if (candidate.path == path) return candidate;
  }
  return std::nullopt;
}

/// Runs `body` in a forked child, which must end itself. What it writes to standard error is kept.
inline test::Ended run_child(const std::function<void()>& body) {
  return test::Process(body, {.out = test::Streams::own, .err = test::Streams::kept}).end();
}

}  // namespace anyplace_test
