// SPDX-License-Identifier: Apache-2.0
#include "failing_calls.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace failing_calls {
namespace {

constinit std::atomic<bool> armed{false};
std::string folder;
long calls = 0, first_failure = 0;
bool later_fail = false;
int error_number = 0;
const char* first_failed = "";
std::array<bool, 4096> is_below{};  ///< of each descriptor: whether it is one of a file below the folder

bool fails(const char* name) noexcept {
  ++calls;
  if (calls < first_failure || (calls > first_failure && !later_fail)) return false;
  if (*first_failed == '\0') first_failed = name;
  errno = error_number;
  return true;
}
bool fails(const char* name, const char* path) noexcept {
  return armed && std::strncmp(path, folder.c_str(), folder.size()) == 0 && fails(name);
}
bool fails(const char* name, int file) noexcept {
  return armed && file >= 0 && is_below[static_cast<std::size_t>(file)] && fails(name);
}

template <class Function>
Function* system_call(Function* /*ours*/, const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void arm(const std::string& below, long first, bool all_later, int error) noexcept {
  folder = below;
  calls = 0;
  first_failure = first;
  later_fail = all_later;
  error_number = error;
  first_failed = "";
  armed = true;
}
long disarm() noexcept {
  armed = false;
  return calls;
}
const char* failed() noexcept { return first_failed; }

}  // namespace failing_calls

using failing_calls::fails;

// Called from one thread while armed.
#pragma GCC visibility push(default)
extern "C" {

int open(const char* path, int flags, ...) {
  static const auto next = failing_calls::system_call(&open, "open");
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (fails("open", path)) return -1;
  const int file = next(path, flags, mode);
  if (failing_calls::armed && file >= 0) {
    const bool below = std::strncmp(path, failing_calls::folder.c_str(), failing_calls::folder.size()) == 0;
    failing_calls::is_below[static_cast<std::size_t>(file)] = below;
  }
  return file;
}
ssize_t read(int file, void* to, size_t count) {
  static const auto next = failing_calls::system_call(&read, "read");
  return fails("read", file) ? -1 : next(file, to, count);
}
ssize_t write(int file, const void* from, size_t count) {
  static const auto next = failing_calls::system_call(&write, "write");
  return fails("write", file) ? -1 : next(file, from, count);
}
int close(int file) {
  static const auto next = failing_calls::system_call(&close, "close");
  const bool failed = fails("close", file);
  if (file >= 0) failing_calls::is_below[static_cast<std::size_t>(file)] = false;
  const int result = next(file);  // the system closes it even then
  return failed ? -1 : result;
}
int fcntl(int file, int command, ...) {
  static const auto next = failing_calls::system_call(&fcntl, "fcntl");
  va_list more;
  va_start(more, command);
  void* const argument = va_arg(more, void*);
  va_end(more);
  return fails("fcntl", file) ? -1 : next(file, command, argument);
}
int rename(const char* from, const char* to) noexcept {
  static const auto next = failing_calls::system_call(&rename, "rename");
  return fails("rename", to) ? -1 : next(from, to);
}
int unlink(const char* path) noexcept {
  static const auto next = failing_calls::system_call(&unlink, "unlink");
  return fails("unlink", path) ? -1 : next(path);
}
int mkdir(const char* path, mode_t mode) noexcept {
  static const auto next = failing_calls::system_call(&mkdir, "mkdir");
  return fails("mkdir", path) ? -1 : next(path, mode);
}
int stat(const char* path, struct stat* out) noexcept {
  static const auto next = failing_calls::system_call(&stat, "stat");
  return fails("stat", path) ? -1 : next(path, out);
}
int lstat(const char* path, struct stat* out) noexcept {
  static const auto next = failing_calls::system_call(&lstat, "lstat");
  return fails("lstat", path) ? -1 : next(path, out);
}
int fstat(int file, struct stat* out) noexcept {
  static const auto next = failing_calls::system_call(&fstat, "fstat");
  return fails("fstat", file) ? -1 : next(file, out);
}
int utimensat(int folder, const char* path, const timespec* times, int flags) noexcept {
  static const auto next = failing_calls::system_call(&utimensat, "utimensat");
  return fails("utimensat", path) ? -1 : next(folder, path, times, flags);
}

}  // extern "C"
#pragma GCC visibility pop
