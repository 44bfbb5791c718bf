// SPDX-License-Identifier: Apache-2.0
//
// What the cases stand on: the double that the backend runs over, and HIP's functions as another library in the same
// process would call them.
#pragma once

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>

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

namespace hip_test {

using anyplace::ErrorCode;
/// Of the double.
constexpr const char* library_name = "libamdhip64.so.6";
using Variables = std::initializer_list<std::pair<const char*, const char*>>;

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

/// An exported function of libamdhip64.so.6, which must be loaded.
template <class Function>
Function* vendor(const char* symbol) {
  void* const library = dlopen(library_name, RTLD_NOW | RTLD_NOLOAD);
  void* const found = library == nullptr ? nullptr : dlsym(library, symbol);
  if (found == nullptr) throw std::runtime_error(std::string("libamdhip64.so.6 has no ") + symbol);
  return reinterpret_cast<Function*>(found);
}

inline int current_device() {
  int current = -1;
  REQUIRE(vendor<hipError_t(int*)>("hipGetDevice")(&current) == hipSuccess);
  return current;
}
inline void set_current_device(int device) { REQUIRE(vendor<hipError_t(int)>("hipSetDevice")(device) == hipSuccess); }

/// The suite's test kernels: "kernels.hsaco" is a bundle, "kernels.gfx90a.hsaco" a code object
inline std::string image_path(const char* name) { return std::string(ANYPLACE_HIP_IMAGES "/") + name; }
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

inline Catch::Matchers::StdString::ContainsMatcher contains(const std::string& part) { return Catch::Contains(part); }

}  // namespace hip_test
