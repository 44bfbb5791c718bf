// SPDX-License-Identifier: Apache-2.0
// `anyplace network`: what collectives would take on machines that aren't here (docs/network.md).
#pragma once

#include <string>

#include "command_line.h"
#include "commands.h"

namespace anyplace::tool {

class NetworkCommand {
 public:
  /// Adds the subcommand to `app`.
  explicit NetworkCommand(CLI::App& app);
  NetworkCommand(const NetworkCommand&) = delete;  // the app writes to this one's members
  NetworkCommand& operator=(const NetworkCommand&) = delete;

  bool chosen() const;
  Answer run() const;

 private:
  CLI::App* command_;
  std::string profile_;
  std::string machines_;
  std::string ranks_;
  std::string collective_ = "all_reduce";
  std::string algorithm_;
  std::string bytes_ = "8KiB,1MiB,1GiB";
  bool json_ = false;
};

}  // namespace anyplace::tool
