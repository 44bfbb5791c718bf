// SPDX-License-Identifier: Apache-2.0
// `anyplace compile`: makes images of a file with kernels, for anyplace_add_kernels and KernelImages, or to see whether
// it compiles.
#pragma once

#include <anyplace/compile.h>

#include <string>
#include <vector>

#include "command_line.h"
#include "commands.h"

namespace anyplace::tool {

class CompileCommand {
 public:
  /// Adds the subcommand to `app`.
  explicit CompileCommand(CLI::App& app);
  CompileCommand(const CompileCommand&) = delete;  // the app writes to this one's members
  CompileCommand& operator=(const CompileCommand&) = delete;

  bool chosen() const;
  /// Compiles for each target, and writes its image. After a target that fails it goes on to the next.
  Answer run() const;

 private:
  Answer compile_each(const std::string& source, const CompileOptions& options) const;
  /// The options for the compilation of a file in the folder. Folders are absolute in it, because a compiler runs in a
  /// folder of its own.
  CompileOptions options_in(const std::string& folder) const;

  CLI::App* command_;
  std::string file_;
  std::vector<std::string> targets_;
  std::string output_;  ///< "": the file's name in the current folder
  std::vector<std::string> includes_;
  CompileOptions options_;
  double timeout_ = 120;  ///< in seconds
  bool not_cached_ = false;
};

}  // namespace anyplace::tool
