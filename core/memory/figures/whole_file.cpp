// SPDX-License-Identifier: Apache-2.0
#include "memory/figures/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/call.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

constexpr int max_names = 100;  ///< a process with this number may have died here before

/// The reason why a system call failed.
struct Reason {
  std::string text;
};

[[noreturn]] void give_up(int number) { throw Reason{std::generic_category().message(number)}; }

/// The path of the file, with every link followed, and its permissions.
struct Target {
  std::string path;
  std::optional<mode_t> mode;  ///< of the existing file
};

Target find_target(const std::string& path) {
  if (path.find('\0') != std::string::npos) throw Reason{"the path has a NUL in it"};
  struct ::stat there {};
  if (::stat(path.c_str(), &there) != 0) {
    if (errno != ENOENT) give_up(errno);
    return {path, std::nullopt};
  }
  if (S_ISDIR(there.st_mode)) give_up(EISDIR);
  if (!S_ISREG(there.st_mode)) throw Reason{"it is no regular file"};
  if (::access(path.c_str(), W_OK) != 0) give_up(errno);
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (!real) give_up(errno);
  return {real.get(), there.st_mode & 07777};
}

/// The new file beside the target. It is removed unless it replaces the target.
class Draft {
 public:
  explicit Draft(const std::string& target) {
    static std::atomic<unsigned> made{0};
    const std::string folder = target.substr(0, target.rfind('/') + 1);  // npos + 1 is 0
    for (int attempt = 0; attempt < max_names; ++attempt) {
      // The name is short and doesn't contain the target's, which may already have the greatest length.
      name_ = fmt::format("{}.anyplace-{}-{}", folder, ::getpid(), made.fetch_add(1, std::memory_order_relaxed));
      file_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file_ >= 0) return;
      if (errno != EEXIST) break;
    }
    give_up(errno);
  }
  Draft(const Draft&) = delete;  // it is removed once
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    if (file_ >= 0) ::close(file_);
    if (!moved_) ::unlink(name_.c_str());
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) give_up(errno);
      if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void become(const Target& target) {
    if (target.mode && ::fchmod(file_, *target.mode) != 0) give_up(errno);
    // Some file systems report only here that there is no room.
    if (::close(std::exchange(file_, -1)) != 0) give_up(errno);
    if (::rename(name_.c_str(), target.path.c_str()) != 0) give_up(errno);
    moved_ = true;
  }

 private:
  std::string name_;
  int file_ = -1;
  bool moved_ = false;
};

}  // namespace

void write_whole_file(const std::string& path, const std::string& bytes, const std::string& place,
                      const char* operation) {
  try {
    const Target target = find_target(path);
    Draft draft(target.path);
    draft.write(bytes);
    draft.become(target);
  } catch (const Reason& reason) {
    fail(ErrorCode::invalid_argument, place, operation,
         fmt::format("can't write \"{}\": {}", one_line(path), reason.text));
  }
}

}  // namespace anyplace::detail
