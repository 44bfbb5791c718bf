// SPDX-License-Identifier: Apache-2.0
// Runs the `anyplace` command as a user would, and keeps what it said.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace anyplace::test {

enum class Output { kept, full, closed, broken_pipe };

struct Run {
  int status = -1;  ///< the exit status; 128 + the signal that ended it
  std::string out;
  std::string err;

  /// Throws, which fails the test, if it isn't JSON.
  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

using Variables = std::vector<std::pair<std::string, std::string>>;

/// With the environment of the test, less everything that starts with ANYPLACE_, plus `variables`.
Run run_command(const std::vector<std::string>& arguments, const Variables& variables = {},
                Output output = Output::kept);

bool contains(const std::string& text, const std::string& part);

/// How many processes have the variable in the environment that they were started with.
int processes_with(const std::string& variable);

}  // namespace anyplace::test
