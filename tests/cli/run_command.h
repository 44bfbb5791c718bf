// SPDX-License-Identifier: Apache-2.0
// Runs the `anyplace` command as a user would, and keeps what it said.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "support/process.h"

namespace anyplace::test {

using ::test::Variables;

enum class Output { kept, full, closed, broken_pipe };

struct Run : ::test::Ended {
  /// Throws, which fails the test, if `out` isn't JSON.
  /// For files that include <nlohmann/json.hpp>, which takes the compiler seconds.
  nlohmann::json json() const;
};

/// With the environment of the test, less everything that starts with ANYPLACE_, plus `variables`.
Run run_command(const std::vector<std::string>& arguments, const Variables& variables = {},
                Output output = Output::kept);

/// Runs `anyplace COMMAND OPTIONS -- PROGRAM`, where the first of `program` is the file. What the command leaves in the
/// folder for temporary files is in `folder`.
Run run_program(const char* command, const std::vector<std::string>& options, const std::vector<std::string>& program,
                const std::string& folder, Variables variables = {});

/// The same as run_command() with `input` as standard input.
Run run_with_input(const std::string& input, const std::vector<std::string>& arguments,
                   const Variables& variables = {});

/// The same on a terminal of so many columns (TERM is xterm-256color unless `variables` say otherwise): `out` is all
/// that was written to it, "\r\n" being "\n", and `err` is empty.
Run run_on_terminal(const std::vector<std::string>& arguments, const Variables& variables = {}, unsigned columns = 80);

/// What somebody in front of a terminal does.
struct Step {
  std::string after;      ///< when this has been written since the step before
  std::string keys = "";  ///< what is typed
  unsigned columns = 0;   ///< the terminal gets so wide; 0: it stays
  int signal = 0;         ///< sent to the command
};

/// The same with steps, one after the other. A command that ends before all are taken has its status and output
/// as ever.
Run run_on_terminal(const std::vector<std::string>& arguments, const Variables& variables, unsigned columns,
                    const std::vector<Step>& steps);

/// `text` as a terminal shows it: without its sequences for colour.
std::string without_colour(const std::string& text);

bool contains(const std::string& text, const std::string& part);

/// How many processes have the variable in the environment that they were started with.
int processes_with(const std::string& variable);

}  // namespace anyplace::test
