// SPDX-License-Identifier: Apache-2.0
// `anyplace sweep`: runs a program again and again, each time with another of its calls to the backends failing, and
// sorts how the runs end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command_line.h"
#include "commands.h"

namespace anyplace::tool {

class SweepCommand {
 public:
  /// Adds the subcommand to `app`.
  explicit SweepCommand(CLI::App& app);
  SweepCommand(const SweepCommand&) = delete;  // the app writes to this one's members
  SweepCommand& operator=(const SweepCommand&) = delete;

  bool chosen() const;
  /// Runs the program twice as it is, and then once for each of its calls.
  Answer run() const;

 private:
  CLI::App* command_;
  std::vector<std::string> words_;
  std::string status_ = "backend_failed";
  std::string entry_ = "*";
  std::uint64_t every_ = 1;
  unsigned jobs_ = 0;     ///< 0: as many as there are processors
  unsigned timeout_ = 0;  ///< in seconds; 0: chosen by how long the program takes
  bool json_ = false;
};

}  // namespace anyplace::tool
