// SPDX-License-Identifier: Apache-2.0
//
// ProcessIdentity: identifies a process whose objects other processes use. The system reuses a process's number, but
// not together with its start time. The functions here read /proc. Thread-safe.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace anyplace::backend {

/// A process by its number and by when it began, since numbers are used again.
struct ProcessIdentity {
  std::uint32_t pid = 0;    ///< its number in this PID namespace
  std::uint64_t start = 0;  ///< in clock ticks since the machine was started

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) noexcept = default;

  /// The identity in one word, so that it can be read and written atomically. It is never 0 for a process.
  std::uint64_t packed() const noexcept { return std::uint64_t{pid} << 32 | (start & 0xffffffff); }
};

/// The state of a process in /proc.
enum class ProcessState {
  alive,    ///< it runs
  gone,     ///< it has ended, or is a zombie
  unknown,  ///< /proc couldn't be read
};

namespace detail {

/// Reads the start time of a process, and the kernel's flags of it. Returns `gone` if it doesn't exist or is a zombie,
/// `unknown` if /proc couldn't be read, for want of a descriptor for example. What is read is of the first thread,
/// which is the same: of the process qemu gives a program that it runs a file of its own, which only that program sees.
inline ProcessState read_start(std::uint32_t pid, std::uint64_t& start, std::uint64_t* flags = nullptr) noexcept {
  char path[48];
  std::snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", pid, pid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT ? ProcessState::gone : ProcessState::unknown;
  char text[1024];
  const ssize_t length = read(file, text, sizeof(text) - 1);
  const int error = length < 0 ? errno : 0;
  close(file);
  if (length <= 0) return error == ESRCH ? ProcessState::gone : ProcessState::unknown;
  text[length] = '\0';
  // The second field is the name in parentheses, which may itself contain blanks and parentheses. The state is the
  // third field.
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] == '\0') return ProcessState::unknown;
  at += 2;
  if (*at == 'Z' || *at == 'X' || *at == 'x') return ProcessState::gone;
  constexpr int fields_to_flags = 6;   // from the third field to the ninth
  constexpr int fields_to_start = 19;  // from the third field to the 22nd
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

/// The identity of this process; its start is 0 where /proc can't be read.
inline ProcessIdentity this_process() noexcept {
  ProcessIdentity self{static_cast<std::uint32_t>(getpid()), 0};
  static_cast<void>(detail::read_start(self.pid, self.start));
  return self;
}

/// Whether the process with that packed identity has ended. A process in an unknown state counts as alive, so that
/// nothing is taken from it because a descriptor couldn't be had.
inline bool is_gone(std::uint64_t packed) noexcept {
  std::uint64_t start = 0;
  const ProcessState state = detail::read_start(static_cast<std::uint32_t>(packed >> 32), start);
  if (state == ProcessState::alive) return (start & 0xffffffff) != (packed & 0xffffffff);
  return state == ProcessState::gone;
}
/// Whether that process has ended. False where /proc can't be read.
inline bool is_gone(const ProcessIdentity& process) noexcept { return is_gone(process.packed()); }

/// Whether the process has ended or is exiting. The kernel closes the descriptors of a killed process before it reports
/// the process as ended.
inline bool is_ending(const ProcessIdentity& process) noexcept {
  constexpr std::uint64_t exiting = 4;  // PF_EXITING of linux/sched.h, which proc(5) shows
  std::uint64_t start = 0;
  std::uint64_t flags = 0;
  const ProcessState state = detail::read_start(process.pid, start, &flags);
  if (state == ProcessState::alive) return start != process.start || (flags & exiting) != 0;
  return state == ProcessState::gone;
}

}  // namespace anyplace::backend
