// SPDX-License-Identifier: Apache-2.0
// `anyplace explore`: runs a program under many schedules of cpu_sim's deterministic mode, and shows each failure that
// one of them leads to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command_line.h"
#include "commands.h"

namespace anyplace::tool {

/// What the command line says.
struct ExploreOptions {
  std::vector<std::string> words;  ///< the program and its arguments
  std::string strategy = "random";
  std::uint64_t runs = 0;  ///< 0: not given
  std::string time;        ///< "": not given
  std::uint64_t seed = 0;
  unsigned jobs = 0;     ///< 0: as many as there are processors
  unsigned timeout = 0;  ///< in seconds; 0: chosen by how long the program takes
  std::string out;       ///< a folder; "": one for temporary files
  std::string replay;    ///< a report, whose choices are taken once more
  bool exhaustive = false;
  bool no_reduction = false;
  bool same_output = false;
  bool no_shrink = false;
  bool fail_fast = false;
  bool json = false;
};

class ExploreCommand {
 public:
  /// Adds the subcommand to `app`.
  explicit ExploreCommand(CLI::App& app);
  ExploreCommand(const ExploreCommand&) = delete;  // the app writes to this one's members
  ExploreCommand& operator=(const ExploreCommand&) = delete;

  bool chosen() const;
  Answer run() const;

 private:
  CLI::App* command_;
  ExploreOptions options_;
};

}  // namespace anyplace::tool
