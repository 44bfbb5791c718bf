// SPDX-License-Identifier: Apache-2.0
// `anyplace cache`: the kernels that were compiled while programs ran, and are kept (anyplace/kernel_cache.h).
#pragma once

#include <string>

#include "command_line.h"
#include "commands.h"

namespace anyplace::tool {

class CacheCommand {
 public:
  /// Adds the subcommand to `app`.
  explicit CacheCommand(CLI::App& app);
  CacheCommand(const CacheCommand&) = delete;  // the app writes to this one's members
  CacheCommand& operator=(const CacheCommand&) = delete;

  bool chosen() const;
  Answer run() const;

 private:
  CLI::App* command_;
  std::string what_ = "list";
  bool json_ = false;
};

}  // namespace anyplace::tool
