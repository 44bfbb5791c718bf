// SPDX-License-Identifier: Apache-2.0
// `anyplace new-backend` and `anyplace new-compiler`: write the project of a new backend, or of a new compiler of
// kernels, which conforms as it stands.
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

class NewCompilerCommand {
 public:
  /// Adds the subcommand to `app`.
  explicit NewCompilerCommand(CLI::App& app);
  NewCompilerCommand(const NewCompilerCommand&) = delete;  // the app writes to this one's members
  NewCompilerCommand& operator=(const NewCompilerCommand&) = delete;

  bool chosen() const;
  /// Writes all of the project or, if that can't be done, nothing.
  Answer run() const;

 private:
  CLI::App* command_;
  std::string name_;
  std::string directory_;  ///< "": a directory of the compiler's name
};

}  // namespace anyplace::tool
