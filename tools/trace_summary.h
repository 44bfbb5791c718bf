// SPDX-License-Identifier: Apache-2.0
// `anyplace trace-summary`: where the time went of a run that the layer `trace` has written down.
#pragma once

#include <string>

#include "command_line.h"
#include "commands.h"

namespace anyplace::tool {

class TraceSummaryCommand {
 public:
  /// Adds the subcommand to `app`.
  explicit TraceSummaryCommand(CLI::App& app);
  TraceSummaryCommand(const TraceSummaryCommand&) = delete;  // the app writes to this one's members
  TraceSummaryCommand& operator=(const TraceSummaryCommand&) = delete;

  bool chosen() const;
  Answer run() const;

 private:
  CLI::App* command_;
  std::string file_;
  std::string other_;
  double least_overlap_ = -1;  ///< in percent; less than 0: none is asked for
  bool json_ = false;
};

}  // namespace anyplace::tool
