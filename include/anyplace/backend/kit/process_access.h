// SPDX-License-Identifier: Apache-2.0
//
// Texts for errors where a process can't get what another one shares: because the system keeps the two apart, or
// because file descriptors ran out. The core and all backends use the same words. Thread-safe.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

namespace anyplace::backend {

/// Whether that errno says that the process or the system has no further descriptor.
inline bool is_descriptor_shortage(int error) noexcept { return error == EMFILE || error == ENFILE; }

/// `what` is the operation, such as "sharing a buffer".
inline std::string no_descriptor_text(const std::string& what, int error) {
  return "there is no file descriptor left for " + what + ": " + std::strerror(error) +
         "\nclose files, or raise the limit (ulimit -n, RLIMIT_NOFILE): a process has descriptors open for what it "
         "shares\nsee docs/ipc.md";
}

/// The text of a failure to open /proc/PID/fd/N, a descriptor of another process. `what` begins the sentence.
inline std::string unopened_text(const std::string& what, std::uint32_t pid, int error) {
  const std::string process = "process " + std::to_string(pid);
  if (is_descriptor_shortage(error)) return no_descriptor_text(what + " of " + process, error);
  const std::string problem = what + " of " + process + " can't be opened: ";
  if (error == EACCES || error == EPERM) {
    return problem + "the system doesn't let this process look into that one (" + std::strerror(error) +
           ")\nthe two have to be allowed to trace each other (ptrace): one user, no capability in " + process +
           " that this one lacks, and that process neither setuid nor otherwise undumpable, which "
           "prctl(PR_SET_DUMPABLE, 1) in it ends\nsee docs/ipc.md";
  }
  return problem + std::strerror(error) + "\nrun both as one user, with access to each other's /proc\nsee docs/ipc.md";
}

}  // namespace anyplace::backend
