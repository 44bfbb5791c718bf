// SPDX-License-Identifier: Apache-2.0
//
// What the cases stand on: the double that the backend runs over, the vendor's functions as another library in the same
// process would call them, and the words for both, which are in vendor.h of tests/cuda and of tests/hip.
#pragma once

#include <catch2/catch.hpp>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

#include "anyplace/anyplace.h"
#include "doubles/double_control.hpp"
#include "support/environment.h"
#include "support/errors.h"
#include "vendor.h"

namespace vendor_test {

using anyplace::Buffer;
using anyplace::Device;
using anyplace::ErrorCode;
using anyplace::Event;
using anyplace::Module;
using anyplace::Stream;
using Variables = std::initializer_list<std::pair<const char*, const char*>>;

/// "cuda:0"
inline std::string place(int index) { return std::string(backend) + ":" + std::to_string(index); }

/// The double, loaded before the backend loads it. At its end nothing may have been misused.
class Double : public anyplace::doubles::Control {
 public:
  explicit Double(Variables variables = {}) : Control(set(variables), true) {}
  ~Double() { CHECK(misuse_text() == ""); }

 private:
  /// Before the double reads them.
  static const char* set(Variables variables) {
    for (const auto& [name, value] : variables) test::set_env(name, value);
    return library_name;
  }
};

/// The suite's test kernels: any_image and others of the vendor's formats.
inline std::string image_path(const char* name) { return std::string(image_folder) + "/" + name; }
inline std::string read_image(const char* name) {
  std::ifstream file(image_path(name), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (bytes.empty()) throw std::runtime_error("no image " + image_path(name));
  return bytes;
}
inline anyplace::Module load(const anyplace::Device& device, const std::string& image,
                             const anyplace::ModuleOptions& options = {}) {
  return anyplace::Module(device, std::as_bytes(std::span(image)), options);
}

/// What a device says of itself where the double has 96 MiB for it.
inline void check_figures(const anyplace::DeviceProperties& properties, int least_priority) {
  CHECK(properties.total_memory == 96u << 20);
  CHECK(properties.max_threads_per_block == 1024);
  CHECK(properties.priorities.least == least_priority);
  CHECK(properties.priorities.greatest < 0);
}

inline auto contains(const std::string& part) { return Catch::Contains(part); }

}  // namespace vendor_test
