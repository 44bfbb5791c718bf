// SPDX-License-Identifier: Apache-2.0
//
// What the tests of names and plugins need: a directory of their own, plugin files made from good ones, the environment
// that names them, and the Error that a call throws.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "anyplace/anyplace.h"

namespace anyplace_test {

/// A new directory that goes away with everything in it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "anyplace-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = std::filesystem::canonical(name).string();
  }
  Folder(const Folder&) = delete;  // removes its directory
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  /// The path of the plugin file of that name in this folder.
  std::string plugin(std::string_view name) const { return file("libanyplace_backend_" + std::string(name) + ".so"); }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  REQUIRE(out.good());
}

/// The plugin file of that name that this build made for the tests.
inline std::string built_plugin(std::string_view name) {
  return std::string(ANYPLACE_TEST_PLUGINS) + "/" + std::string(name) + "/libanyplace_backend_" + std::string(name) +
         ".so";
}

/// A copy, not a link: a plugin's file is loaded once in a process.
inline std::string copy_plugin(std::string_view built, const Folder& folder, std::string_view name) {
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

/// What `call` throws. Fails the test if it throws nothing.
inline anyplace::Error error_of(const std::function<void()>& call) {
  std::optional<anyplace::Error> caught;
  try {
    call();
  } catch (const anyplace::Error& error) {
    caught = error;
  }
  if (!caught) FAIL("no anyplace::Error was thrown");
  return *caught;
}

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

}  // namespace anyplace_test
