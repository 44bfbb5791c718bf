// SPDX-License-Identifier: Apache-2.0
//
// Watches over the process that compiles. However it ends, and also if the application ends before it, nothing is left:
// no process that it started and, without the application, no file.
#pragma once

#include <sys/types.h>

#include <string>

namespace anyplace::compilers {

/// How the process ended, and the beginning of what it and all that it started have printed.
struct Ended {
  int signal = 0;  ///< 0: by itself
  std::string said;
};

/// Runs `body` in a forked process, and ends all processes of its group behind it. Deletes the folder and doesn't
/// return if `application`, which has started this process, ends or sends SIGTERM before.
Ended supervise(pid_t application, const std::string& folder, void (*body)());

}  // namespace anyplace::compilers
