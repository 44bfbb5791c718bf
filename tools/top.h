// SPDX-License-Identifier: Apache-2.0
// `anyplace top`: its options, and watching the devices with them.
#pragma once

#include <chrono>
#include <string>

#include "command_line.h"
#include "commands.h"

namespace anyplace::tool {

class TopCommand {
 public:
  /// Adds the subcommand to `app`.
  explicit TopCommand(CLI::App& app);
  TopCommand(const TopCommand&) = delete;  // the app writes to this one's members
  TopCommand& operator=(const TopCommand&) = delete;

  bool chosen() const;
  /// Writes to standard output as it goes on; what it returns is for the end. `output_closed`: there is none.
  Answer run(std::chrono::milliseconds probe_timeout, bool output_closed) const;

 private:
  CLI::App* command_;
  CLI::Option* count_option_;
  std::string interval_;
  std::string places_;
  std::string sort_;
  std::string count_;
  bool once_ = false;
  bool json_ = false;
  bool csv_ = false;
};

}  // namespace anyplace::tool
