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
  /// Watches the devices, and writes to standard output as it goes on; the Answer has what is left to write at the end.
  /// `output_closed` says that standard output is closed.
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
