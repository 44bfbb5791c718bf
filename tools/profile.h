// SPDX-License-Identifier: Apache-2.0
// `anyplace profile`: makes a profile for cpu_sim (docs/cpu_sim-profiles.md) of what the layer `trace` has measured.
#pragma once

#include <string>

#include "command_line.h"
#include "commands.h"

namespace anyplace::tool {

class ProfileCommand {
 public:
  /// Adds the subcommand to `app`.
  explicit ProfileCommand(CLI::App& app);
  ProfileCommand(const ProfileCommand&) = delete;  // the app writes to this one's members
  ProfileCommand& operator=(const ProfileCommand&) = delete;

  bool chosen() const;
  Answer run() const;

 private:
  CLI::App* command_;
  std::string trace_;
  std::string base_;
  std::string name_ = "calibrated";
};

}  // namespace anyplace::tool
