// SPDX-License-Identifier: Apache-2.0
#include "process_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace anyplace::cpu_sim {
namespace {

constexpr const char* folder_name = "/proc/self/task";

int open_of(pid_t id, const char* file) noexcept {
  char path[64];
  std::snprintf(path, sizeof(path), "%s/%d/%s", folder_name, id, file);
  return open(path, O_RDONLY | O_CLOEXEC);
}

}  // namespace

pid_t this_thread() noexcept { return static_cast<pid_t>(syscall(SYS_gettid)); }

bool has_ended(pid_t thread) noexcept { return syscall(SYS_tgkill, getpid(), thread, 0) != 0 && errno == ESRCH; }

OpenThread::OpenThread(pid_t id) noexcept : id_(id), call_(open_of(id, "syscall")), state_(open_of(id, "stat")) {}

OpenThread::~OpenThread() {
  if (call_ >= 0) close(call_);
  if (state_ >= 0) close(state_);
}

/// The file of the call has "running", or the number of the system call that the thread is in and its arguments in
/// hexadecimal.
OpenThread::Doing OpenThread::look() noexcept {
  char text[256];
  const ssize_t bytes = call_ < 0 ? -1 : pread(call_, text, sizeof(text) - 1, 0);
  if (bytes <= 0) return doing = has_ended(id_) ? Doing::ended : Doing::sleeps;
  text[bytes] = '\0';
  if (std::strncmp(text, "running", 7) == 0) return doing = Doing::runs;
  long number = -1;
  unsigned long long timeout = 1;
  const int read = std::sscanf(text, "%ld %*s %*s %*s %llx", &number, &timeout);
  // A thread that was woken on a core that sleeps is in the call until the core is awake, but its state says that it
  // runs. One that waits for a page, a lock of the kernel's or a disk goes on by itself, and soon.
  const char letter = state();
  // The first thread of a process stays when it has ended, until the others have.
  if (letter == 'Z' && id_ == getpid()) return doing = Doing::waits;
  if (letter != 'S' && letter != 'T') return doing = Doing::runs;
  return doing = read == 2 && number == SYS_futex && timeout == 0 ? Doing::waits : Doing::sleeps;
}

/// Returns the letter that stands for the thread's state. In its file it stands behind the name, in parentheses.
char OpenThread::state() const noexcept {
  char text[128];
  const ssize_t bytes = pread(state_, text, sizeof(text) - 1, 0);
  text[bytes > 0 ? bytes : 0] = '\0';
  const char* const end = std::strrchr(text, ')');
  return end == nullptr || end[1] == '\0' ? 'X' : end[2];
}

std::int64_t OpenThread::computed_ns() const noexcept {
  // This is how the kernel numbers the clock of a thread's processor time.
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(id_) << 3) | 6);
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return 0;
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::string OpenThread::name() const {
  const int file = open_of(id_, "comm");
  if (file < 0) return {};
  char text[32];
  const ssize_t bytes = read(file, text, sizeof(text));
  close(file);
  std::string name(text, bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  if (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

/// A kernel may have the folder and not the file that says what a thread does.
ProcessThreads::ProcessThreads() noexcept
    : folder_(access("/proc/self/syscall", R_OK) == 0 ? open(folder_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1) {}

ProcessThreads::~ProcessThreads() {
  if (folder_ >= 0) close(folder_);
}

/// The folder's links are as many as the threads and two.
std::uint64_t ProcessThreads::links() const noexcept {
  struct stat status {};
  return folder_ < 0 || fstat(folder_, &status) != 0 ? 0 : status.st_nlink;
}

bool ProcessThreads::have_changed() const noexcept { return links() != links_; }

std::map<pid_t, OpenThread>& ProcessThreads::list(bool anew) {
  if (folder_ < 0 || (!anew && !have_changed())) return threads_;
  ++listings_;
  for (auto& [id, thread] : threads_) thread.seen = false;
  DIR* const folder = opendir(folder_name);
  if (folder == nullptr) return threads_;
  while (const dirent* entry = readdir(folder)) {
    const auto id = static_cast<pid_t>(std::atoi(entry->d_name));
    if (id != 0) threads_.try_emplace(id, id).first->second.seen = true;
  }
  closedir(folder);
  std::erase_if(threads_, [](const auto& each) { return !each.second.seen; });
  // The folder had another number if a thread ended or began since that was asked, and may have it again.
  links_ = threads_.size() + 2;
  return threads_;
}

}  // namespace anyplace::cpu_sim
