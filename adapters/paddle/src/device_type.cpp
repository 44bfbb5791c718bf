// SPDX-License-Identifier: Apache-2.0
#include "device_type.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace anyplace_paddle {
namespace {

constexpr const char* variable = "ANYPLACE_PADDLE_TYPE";
constexpr std::string_view default_type = "anyplace";
constexpr std::string_view prefix = "libpaddle-custom-", suffix = ".so";

/// What paddle.set_device takes for a device of its own.
constexpr std::array<std::string_view, 8> own_types{"cpu",        "gpu", "gpu_pinned", "dcu",
                                                    "xpu_pinned", "xpu", "ipu",        "npu"};

bool is_small_letter(char c) { return c >= 'a' && c <= 'z'; }
bool is_name_character(char c) { return is_small_letter(c) || (c >= '0' && c <= '9') || c == '_'; }

/// The path that Paddle opened the plug-in by; "" if the system can't tell.
std::string own_path() {
  static const int somewhere_in_the_plug_in = 0;
  Dl_info info;
  return ::dladdr(&somewhere_in_the_plug_in, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

std::string find_device_type() {
  if (const char* const value = std::getenv(variable); value != nullptr && *value != '\0') {
    check_device_type(value, std::string("the environment variable ") + variable);
    return value;
  }
  const std::string path = own_path();
  const std::string file = path.substr(path.rfind('/') + 1);
  if (!file.starts_with(prefix) || !file.ends_with(suffix)) return std::string(default_type);
  const std::string type = file.substr(prefix.size(), file.size() - prefix.size() - suffix.size());
  check_device_type(type, "the plug-in's file name " + file);
  return type;
}

}  // namespace

void check_device_type(const std::string& type, const std::string& where) {
  const bool is_name = !type.empty() && is_small_letter(type.front()) && std::ranges::all_of(type, is_name_character);
  if (!is_name)
    throw std::invalid_argument(where + " gives the device type '" + type +
                                "', which is no name; one has small letters, digits and _, and begins with a letter: "
                                "anyplace, custom_cpu");
  if (std::ranges::find(own_types, type) != own_types.end())
    throw std::invalid_argument(where + " gives the device type '" + type +
                                "', which is taken by Paddle itself; another is free: anyplace, custom_cpu");
}

const std::string& device_type() {
  static const std::string& type = *new std::string(find_device_type());  // outlives Paddle's calls at exit
  return type;
}

}  // namespace anyplace_paddle
