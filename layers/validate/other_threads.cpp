// SPDX-License-Identifier: Apache-2.0
#include "other_threads.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "thread.h"

namespace anyplace::validate {
namespace {

struct All {
  std::mutex mutex;  // guards threads; a leaf
  std::vector<const CallingThread*> threads;
};
All& all() {
  static All& made = *new All();
  return made;
}

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec; }

}  // namespace

CallingThread::CallingThread() : id_(static_cast<pid_t>(::syscall(SYS_gettid))) {
  if (::pthread_getcpuclockid(::pthread_self(), &clock_) != 0) clock_ = -1;
  const std::lock_guard lock(all().mutex);
  all().threads.push_back(this);
}

CallingThread::~CallingThread() {
  const std::lock_guard lock(all().mutex);
  std::erase(all().threads, this);
}

bool CallingThread::is_running() const {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%d/stat", id_);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[256];
  const ssize_t count = ::read(file, text, sizeof(text) - 1);
  ::close(file);
  if (count <= 0) return false;
  text[count] = '\0';
  // "7 (name) R ...", where the name may have anything in it.
  const char* const behind_name = std::strrchr(text, ')');
  return behind_name != nullptr && behind_name[1] == ' ' && behind_name[2] == 'R';
}

timespec CallingThread::time_used() const {
  timespec used{};
  if (clock_ != -1) ::clock_gettime(clock_, &used);
  return used;
}

void wait_for_other_threads() {
  using Clock = std::chrono::steady_clock;
  constexpr std::int64_t patience = 10'000'000;  // nanoseconds; a loop that asks again and again doesn't sleep
  constexpr std::chrono::microseconds pause{100};
  const Clock::time_point latest = Clock::now() + std::chrono::seconds(1);
  const CallingThread* const self = &this_thread().calling;
  std::unordered_map<const CallingThread*, std::int64_t> used_before;
  const auto is_any_busy = [&] {
    const std::lock_guard lock(all().mutex);
    return std::any_of(all().threads.begin(), all().threads.end(), [&](const CallingThread* thread) {
      if (thread == self) return false;
      const std::int64_t used = nanoseconds(thread->time_used());
      return used - used_before.emplace(thread, used).first->second < patience && thread->is_running();
    });
  };
  // A thread may sleep for a moment, for a lock, so one look isn't enough.
  constexpr int looks = 2;
  for (int quiet = 0; quiet < looks && Clock::now() < latest;) {
    quiet = is_any_busy() ? 0 : quiet + 1;
    if (quiet < looks) std::this_thread::sleep_for(pause);
  }
}

}  // namespace anyplace::validate
