// SPDX-License-Identifier: Apache-2.0
//
// `anyplace pages`: the manual page and the shell's completion, made from the same definitions that read the command
// line, so that they can't say anything else. The build runs it and installs what it prints; --help doesn't list it.
#pragma once

#include <string>

#include "command_line.h"
#include "commands.h"

namespace anyplace::tool {

class PagesCommand {
 public:
  /// Every other subcommand is there by the time that run() is called.
  explicit PagesCommand(CLI::App& app);
  PagesCommand(const PagesCommand&) = delete;  // CLI11 writes into it
  PagesCommand& operator=(const PagesCommand&) = delete;

  bool chosen() const;
  Answer run() const;

 private:
  CLI::App& app_;
  CLI::App* command_;
  std::string page_;
  std::string file_;
};

/// Whether --help shows it.
bool is_listed(const CLI::App& command);

}  // namespace anyplace::tool
