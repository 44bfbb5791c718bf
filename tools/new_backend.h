// SPDX-License-Identifier: Apache-2.0
// `anyplace new-backend`: writes the project of a new backend, which conforms as it stands.
#pragma once

#include <string>

#include "command_line.h"
#include "commands.h"

namespace anyplace::tool {

class NewBackendCommand {
 public:
  /// Adds the subcommand to `app`.
  explicit NewBackendCommand(CLI::App& app);
  NewBackendCommand(const NewBackendCommand&) = delete;  // the app writes to this one's members
  NewBackendCommand& operator=(const NewBackendCommand&) = delete;

  bool chosen() const;
  /// Writes all of the project or, if that can't be done, nothing.
  Answer run() const;

 private:
  CLI::App* command_;
  std::string name_;
  std::string directory_;  ///< "": a directory of the backend's name
  bool in_c_ = false;
};

}  // namespace anyplace::tool
