// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace anyplace_ur {

namespace {

constexpr unsigned max_streams = 32;

constexpr std::array<std::pair<std::string_view, ur_backend_t>, 6> backends{{{"opencl", UR_BACKEND_OPENCL},
                                                                             {"level_zero", UR_BACKEND_LEVEL_ZERO},
                                                                             {"cuda", UR_BACKEND_CUDA},
                                                                             {"hip", UR_BACKEND_HIP},
                                                                             {"native_cpu", UR_BACKEND_NATIVE_CPU},
                                                                             {"offload", UR_BACKEND_OFFLOAD}}};

std::string_view variable(const char* name) noexcept {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

/// Says that a variable makes no sense, and what would.
void refuse(Settings& settings, const char* name, std::string_view text, const char* allowed) {
  settings.problem.assign(name).append(" is \"").append(text).append("\"; it is ").append(allowed);
}

void read_backend(Settings& settings) {
  const std::string_view text = variable("ANYPLACE_UR_POSE_AS");
  if (text.empty()) return;
  for (const auto& [name, backend] : backends) {
    if (text == name) {
      settings.backend = backend;
      return;
    }
  }
  refuse(settings, "ANYPLACE_UR_POSE_AS", text, "one of");
  for (const auto& [name, backend] : backends) settings.problem.append(" ").append(name);
}

void read_log(Settings& settings) {
  const std::string_view text = variable("ANYPLACE_UR_LOG");
  if (text.empty() || text == "0") return;
  if (text == "1" || text == "errors") {
    settings.log = LogSetting::errors;
  } else if (text == "all") {
    settings.log = LogSetting::all;
  } else {
    refuse(settings, "ANYPLACE_UR_LOG", text, "one of 0 1 errors all");
  }
}

void read_streams(Settings& settings) {
  const std::string_view text = variable("ANYPLACE_UR_STREAMS");
  if (text.empty()) return;
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0 || number > max_streams) {
    refuse(settings, "ANYPLACE_UR_STREAMS", text, "a whole number from 1 to 32");
    return;
  }
  settings.streams = number;
}

Settings read() noexcept {
  Settings settings;
  try {
    settings.places = variable("ANYPLACE_UR_PLACES");
    read_backend(settings);
    read_log(settings);
    read_streams(settings);
  } catch (...) {
    // No memory for a text: the defaults hold.
  }
  return settings;
}

}  // namespace

const Settings& settings() noexcept {
  static const Settings* const instance = new Settings(read());  // outlives every thread that may log
  return *instance;
}

}  // namespace anyplace_ur
