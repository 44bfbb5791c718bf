// SPDX-License-Identifier: Apache-2.0
// `anyplace conformance`: its options, and running the suite with them.
#pragma once

#include <string>

#include "command_line.h"
#include "commands.h"
#include "conformance/conformance.h"

namespace anyplace::tool {

class ConformanceCommand {
 public:
  /// Adds the subcommand to `app`.
  explicit ConformanceCommand(CLI::App& app);
  ConformanceCommand(const ConformanceCommand&) = delete;  // the app writes to this one's members
  ConformanceCommand& operator=(const ConformanceCommand&) = delete;

  bool chosen() const;
  /// Runs the suite. Exit status: 0 the backend conforms, 1 it doesn't, 2 the suite couldn't run, 128 + N signal N
  /// ended it. Each failure is shown when it comes: on standard output, with --json on standard error. If standard
  /// error is a terminal, it shows the progress.
  Answer run() const;

 private:
  /// The output for the end of the run, and the exit status.
  Answer answer(const conformance::Report& report) const;

  CLI::App* command_;
  conformance::Options options_;
  double seconds_ = 20;
  std::string junit_;
  bool list_ = false;
  bool json_ = false;
  bool verbose_ = false;
};

}  // namespace anyplace::tool
