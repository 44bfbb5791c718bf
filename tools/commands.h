// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of `anyplace`. Each has a file of its own and returns what it has to say; main.cpp alone writes it,
// so that a full or closed standard output is noticed in one place.
#pragma once

#include <chrono>
#include <string>

namespace anyplace::tool {

/// The exit statuses that --help and docs/command.md promise.
enum ExitStatus : int {
  exit_ok = 0,
  exit_failed = 1,  ///< asked rightly, but the answer is no: no such place, no device, output not writable
  exit_usage = 2,   ///< the command line or an environment variable of the command's is wrong
};

struct Options {
  bool json = false;
  std::string place;                                                   ///< of `info`
  std::chrono::milliseconds probe_timeout = std::chrono::seconds(10);  ///< for each answer of a plugin
};

struct Answer {
  std::string output;  ///< for standard output
  std::string notes;   ///< for standard error
  int status = exit_ok;
};

/// Every device of every backend. Each backend is asked in a child process.
Answer run_devices(const Options& options);
/// One device. Asks in this process, and opens no plugin but the one that the place names.
Answer run_info(const Options& options);
/// The environment and every plugin file, each tried in a child process.
Answer run_doctor(const Options& options);
Answer run_version(const Options& options);

/// The other side of devices and doctor: what a child process runs. `arguments` is what probe.cpp passes. Doesn't
/// return to its caller's exit handlers: a plugin that was probed gets no chance to hang there.
[[noreturn]] void run_probe_child(int argument_count, char** arguments);

}  // namespace anyplace::tool
