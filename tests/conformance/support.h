// SPDX-License-Identifier: Apache-2.0
// What the tests of `anyplace conformance` share.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../cli/run_command.h"

namespace anyplace::test {

inline std::string plugin_file(const std::string& name) {
  return std::string(ANYPLACE_TEST_PLUGINS) + "/libanyplace_backend_" + name + ".so";
}

/// `anyplace conformance` with these arguments. A case has time on a machine that is busy, unless they say otherwise.
inline Run conform(std::vector<std::string> arguments, const Variables& variables = {}) {
  const bool any = std::find(arguments.begin(), arguments.end(), "--timeout") != arguments.end();
  if (!any) arguments.insert(arguments.end(), {"--timeout", "300"});
  arguments.insert(arguments.begin(), "conformance");
  return run_command(arguments, variables);
}

/// The same on a test's own backend.
inline Run conform_plugin(const std::string& name, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--place", name + ":0", "--plugin", plugin_file(name)});
  return conform(std::move(arguments));
}

/// The entries of the report's list with that result.
inline std::vector<nlohmann::json> with_result(const nlohmann::json& report, const std::string& result) {
  std::vector<nlohmann::json> found;
  for (const nlohmann::json& one : report.at("list")) {
    if (one.at("result") == result) found.push_back(one);
  }
  return found;
}

}  // namespace anyplace::test
