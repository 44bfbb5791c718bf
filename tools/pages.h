// SPDX-License-Identifier: Apache-2.0
//
// `anyplace pages`: the manual page and the shell's completion. They are made from the definitions that read the
// command line, so that they can't contradict it. The build runs it and installs what it prints; --help doesn't list
// it.
#pragma once

#include <string>

#include "command_line.h"
#include "commands.h"

namespace anyplace::tool {

class PagesCommand {
 public:
  /// Adds the subcommand to `app`. All other subcommands must have been added by the time that run() is called.
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

/// Whether --help shows the command.
bool is_listed(const CLI::App& command);

}  // namespace anyplace::tool
