// SPDX-License-Identifier: Apache-2.0
//
// ProcessIdentity: which process something belongs to, for what several processes share. A process's number is used
// again; together with the time of its start it isn't. What is asked here is read from /proc. Any thread.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace anyplace::backend {

struct ProcessIdentity {
  std::uint32_t pid = 0;
  std::uint64_t start = 0;  ///< when it was started, in the system's clock ticks since the machine was

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) noexcept = default;

  /// In one word, so that it is written and read at once. Never 0 for a process.
  std::uint64_t packed() const noexcept { return std::uint64_t{pid} << 32 | (start & 0xffffffff); }
};

/// What /proc says of a process.
enum class ProcessState { alive, gone, unknown };

namespace detail {

/// The start time of a process, and the system's flags of it. `gone` if it doesn't exist or has ended and only waits
/// for its parent, `unknown` if the system didn't say, for want of a descriptor for example.
inline ProcessState read_start(std::uint32_t pid, std::uint64_t& start, std::uint64_t* flags = nullptr) noexcept {
  char path[40];
  std::snprintf(path, sizeof(path), "/proc/%u/stat", pid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT ? ProcessState::gone : ProcessState::unknown;
  char text[1024];
  const ssize_t length = read(file, text, sizeof(text) - 1);
  const int error = length < 0 ? errno : 0;
  close(file);
  if (length <= 0) return error == ESRCH ? ProcessState::gone : ProcessState::unknown;
  text[length] = '\0';
  // The name, in parentheses, may have blanks and parentheses in it. The state is the third field.
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] == '\0') return ProcessState::unknown;
  at += 2;
  if (*at == 'Z' || *at == 'X' || *at == 'x') return ProcessState::gone;
  constexpr int fields_to_flags = 6;   // from the third to the ninth
  constexpr int fields_to_start = 19;  // and to the 22nd
  for (int field = 0; field < fields_to_start; ++field) {
    if (field == fields_to_flags && flags != nullptr) *flags = std::strtoull(at, nullptr, 10);
    at = std::strchr(at, ' ');
    if (at == nullptr) return ProcessState::unknown;
    ++at;
  }
  start = std::strtoull(at, nullptr, 10);
  return ProcessState::alive;
}

}  // namespace detail

/// This process; 0 as its start where /proc can't be read.
inline ProcessIdentity this_process() noexcept {
  ProcessIdentity self{static_cast<std::uint32_t>(getpid()), 0};
  static_cast<void>(detail::read_start(self.pid, self.start));
  return self;
}

/// Whether the process with that packed identity runs. A process whose state isn't known counts as alive: what it has
/// isn't taken from it for want of a descriptor.
inline bool is_gone(std::uint64_t packed) noexcept {
  std::uint64_t start = 0;
  const ProcessState state = detail::read_start(static_cast<std::uint32_t>(packed >> 32), start);
  if (state == ProcessState::alive) return (start & 0xffffffff) != (packed & 0xffffffff);
  return state == ProcessState::gone;
}
inline bool is_gone(const ProcessIdentity& process) noexcept { return is_gone(process.packed()); }

/// Whether the process is gone or about to be: the system closes what a process that was killed has before it says that
/// it ended.
inline bool is_ending(const ProcessIdentity& process) noexcept {
  constexpr std::uint64_t exiting = 4;  // PF_EXITING of linux/sched.h, which proc(5) shows
  std::uint64_t start = 0;
  std::uint64_t flags = 0;
  const ProcessState state = detail::read_start(process.pid, start, &flags);
  if (state == ProcessState::alive) return start != process.start || (flags & exiting) != 0;
  return state == ProcessState::gone;
}

}  // namespace anyplace::backend
