// SPDX-License-Identifier: Apache-2.0
// `anyplace timeline`: a page that shows a run that the layer `trace` has written down.
#pragma once

#include <string>

#include "command_line.h"
#include "commands.h"

namespace anyplace::tool {

struct RunTrace;

/// The page of a trace, as `anyplace timeline` writes it.
std::string timeline_page_of(const RunTrace& trace, const std::string& title);

class TimelineCommand {
 public:
  /// Adds the subcommand to `app`.
  explicit TimelineCommand(CLI::App& app);
  TimelineCommand(const TimelineCommand&) = delete;  // the app writes to this one's members
  TimelineCommand& operator=(const TimelineCommand&) = delete;

  bool chosen() const;
  Answer run() const;

 private:
  CLI::App* command_;
  std::string file_;
  std::string output_;
};

}  // namespace anyplace::tool
