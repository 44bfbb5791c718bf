// SPDX-License-Identifier: Apache-2.0
#include "output.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace anyplace::trace {
namespace {

void warn(const std::string& path, const std::string& reason) {
  std::fprintf(stderr, "anyplace: trace: warning: %s: %s\n", path.c_str(), reason.c_str());
}

std::string numbered(const std::string& path) {
  std::filesystem::path file(path);
  const std::string extension = file.extension().string();
  file.replace_extension();
  return file.string() + "." + std::to_string(::getpid()) + extension;
}

/// Whether another process has the regular file locked; if not, this one has it locked now.
bool is_taken(int file) { return ::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; }

/// Writes without the signal of a pipe that nobody reads any more: it would end the program.
class WithoutSigpipe {
 public:
  WithoutSigpipe() noexcept {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    const timespec none{};
    if (!was_pending_) ::sigtimedwait(&pipe_, nullptr, &none);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_;
};

}  // namespace

int Output::open_file(const std::string& path) {
  // A pipe that nobody reads fails with O_NONBLOCK, instead of holding the program up.
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (file < 0) return -1;
  ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) & ~O_NONBLOCK);
  struct stat status {};
  is_regular_ = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  return file;
}

std::string Output::open(const std::string& path, std::uint64_t limit) {
  close();
  path_ = path;
  file_ = open_file(path_);
  if (file_ >= 0 && is_regular_ && is_taken(file_)) {
    ::close(file_);
    path_ = numbered(path);
    file_ = open_file(path_);
    if (file_ >= 0) static_cast<void>(is_taken(file_));
  }
  if (file_ < 0 || (is_regular_ && ::ftruncate(file_, 0) != 0)) {
    warn(path_, std::string(std::strerror(errno)) + "; there is no trace");
    close();
    return "";
  }
  size_ = 0;
  limit_ = limit;
  return path_;
}

void Output::append(std::string_view packets) {
  if (file_ < 0) return;
  if (packets.size() > limit_ - size_) return give_up("the trace has reached ANYPLACE_TRACE_LIMIT, and ends here");
  const WithoutSigpipe without_sigpipe;
  std::size_t written = 0;
  while (written < packets.size()) {
    const ssize_t count = ::write(file_, packets.data() + written, packets.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const std::string reason = std::strerror(errno);
      // The packet of which a part was written goes, so that the file stays whole.
      if (is_regular_) static_cast<void>(::ftruncate(file_, static_cast<off_t>(size_)) != 0);
      return give_up(reason + "; the trace ends here");
    }
    written += static_cast<std::size_t>(count);
  }
  size_ += packets.size();
}

void Output::give_up(const std::string& reason) {
  warn(path_, reason);
  close();
}

void Output::close() noexcept {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

}  // namespace anyplace::trace
