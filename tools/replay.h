// SPDX-License-Identifier: Apache-2.0
// `anyplace replay`: its options, and replaying a trace with them.
#pragma once

#include <string>

#include "command_line.h"
#include "commands.h"
#include "synthetic.h"

namespace anyplace::tool {

class ReplayCommand {
 public:
  /// Adds the subcommand to `app`.
  explicit ReplayCommand(CLI::App& app);
  ReplayCommand(const ReplayCommand&) = delete;  // the app writes to this one's members
  ReplayCommand& operator=(const ReplayCommand&) = delete;

  bool chosen() const;
  Answer run() const;

 private:
  CLI::App* command_;
  CLI::Option* synthetic_;
  CLI::Option* operations_option_;
  CLI::Option* device_option_;
  std::string trace_;
  std::string place_ = "cpu_sim:0";
  std::string segments_;
  std::string limit_;
  std::uint64_t seed_ = 0;
  std::uint64_t operations_ = 1'000'000;
  int fill_ = synthetic_fill;
  std::uint32_t repeat_ = 1;
  std::uint32_t device_ = 0;
  bool find_limit_ = false;
  bool json_ = false;
};

}  // namespace anyplace::tool
