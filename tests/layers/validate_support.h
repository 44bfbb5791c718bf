// SPDX-License-Identifier: Apache-2.0
// What the cases of `validate` share: a program under the layer, and what it reported.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "anyplace/anyplace.h"
#include "support/environment.h"

namespace test {

/// Two streams of a device under the layer, and memory that both may use.
struct Validated {
  explicit Validated(const std::string& settings = "log leaks=off") : device(begin(settings)) {
    anyplace::layer_command("validate", "clear");  // of an earlier section
  }
  /// Memory of the host that is declared before this outlives the copies.
  ~Validated() { device.synchronize(); }

  static std::string begin(const std::string& settings) {
    set_env("ANYPLACE_LAYERS", "validate");
    set_env("ANYPLACE_VALIDATE", settings);
    return "cpu_sim:0";
  }
  anyplace::Buffer shared() {
    anyplace::Buffer buffer(a, bytes);
    buffer.record_stream(b);
    return buffer;
  }

  static constexpr std::uint64_t bytes = 4096;
  anyplace::Device device;
  anyplace::Stream a{device};
  anyplace::Stream b{device};
};

inline nlohmann::json reports() {
  return nlohmann::json::parse(anyplace::layer_command("validate", "reports")).at("reports");
}

/// The kinds of the reports so far, in their order.
inline std::vector<std::string> kinds() {
  std::vector<std::string> all;
  for (const auto& report : reports()) all.push_back(report.at("kind"));
  return all;
}

using Kinds = std::vector<std::string>;

}  // namespace test
