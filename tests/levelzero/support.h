// SPDX-License-Identifier: Apache-2.0
//
// What the cases stand on: the double that the backend runs over, in one of its two forms.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "anyplace/anyplace.h"
#include "doubles/double_control.hpp"
#include "form.h"
#include "support/environment.h"
#include "support/errors.h"

namespace levelzero_test {

using anyplace::ErrorCode;
using Catch::Contains;
using Variables = std::initializer_list<std::pair<const char*, const char*>>;

constexpr int device_lost = 0x70000001;

/// The double, loaded before the backend loads it. At its end nothing may have been misused.
class Double : public anyplace::doubles::Control {
 public:
  explicit Double(Variables variables = {}) : Control(set(variables), true) {}
  ~Double() { CHECK(misuse_text() == ""); }

 private:
  /// Before the double, or the loader, reads them.
  static const char* set(Variables variables) {
    if (is_behind_loader) {
      test::set_env("ZE_ENABLE_ALT_DRIVERS", double_library);
      test::set_env("ZE_ENABLE_VALIDATION_LAYER", "1");
      test::set_env("ZE_ENABLE_PARAMETER_VALIDATION", "1");
    }
    for (const auto& [name, value] : variables) test::set_env(name, value);
    return double_library;
  }
};

inline std::string read_image(const char* name = "kernels.spv") {
  const std::string path = std::string(ANYPLACE_LEVELZERO_IMAGES "/") + name;
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (bytes.empty()) throw std::runtime_error("no image " + path);
  return bytes;
}
inline anyplace::ModuleOptions with_shared(int index = 2) {
  anyplace::ModuleOptions options;
  options.metadata.push_back({"block_sum", index});
  return options;
}
inline anyplace::Module load(const anyplace::Device& device, const std::string& image,
                             const anyplace::ModuleOptions& options = {}) {
  return anyplace::Module(device, std::as_bytes(std::span(image)), options);
}

}  // namespace levelzero_test
