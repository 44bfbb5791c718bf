// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of `anyplace`. Each has a file of its own and returns its output; main.cpp alone writes it, so that a
// full or closed standard output is noticed in one place.
#pragma once

#include <chrono>
#include <string>

namespace anyplace::tool {

/// The exit statuses that --help and docs/command.md promise.
enum ExitStatus : int {
  exit_ok = 0,
  exit_failed = 1,  ///< the question was right, and the answer is no: no such place, no device, output not writable
  exit_usage = 2,   ///< the command line is wrong, or an environment variable that the command reads
};

struct Options {
  bool json = false;
  std::string place;                                                   ///< the place that `info` is about
  std::chrono::milliseconds probe_timeout = std::chrono::seconds(10);  ///< the time limit for each answer of a plugin
};

struct Answer {
  std::string output;  ///< for standard output
  std::string notes;   ///< for standard error
  int status = exit_ok;
  std::string log = {};  ///< for standard error before the notes, byte for byte
};

/// Shows every device of every backend. Each backend is asked in a child process.
Answer run_devices(const Options& options);
/// Shows one device. Asks in this process, and opens no plugin but the one that the place names.
Answer run_info(const Options& options);
/// Shows the environment and every plugin file, each tried in a child process.
Answer run_doctor(const Options& options);
Answer run_version(const Options& options);

/// The child's side of devices and doctor. `arguments` are those that probe.cpp passes. It ends the process without
/// running exit handlers, so that a plugin that was probed can't hang there.
[[noreturn]] void run_probe_child(int argument_count, char** arguments);

}  // namespace anyplace::tool
