// SPDX-License-Identifier: Apache-2.0
//
// A child process made by fork, with what it writes to standard error and how it ended.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

namespace anyplace_test {

struct ChildResult {
  int status = 0;      ///< of waitpid
  std::string errors;  ///< what it wrote to standard error
  bool exited_with(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
};

/// Whether every other thread of this process sleeps.
inline bool others_sleep() {
  const std::string self = std::to_string(::gettid());
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == self) continue;
    std::ifstream file(task.path() / "stat");
    std::string stat;
    // "pid (name) state ...", and a name may have anything in it. A thread that has just ended has no file.
    if (std::getline(file, stat) && stat.substr(stat.rfind(')') + 2, 1) == "R") return false;
  }
  return true;
}

/// AddressSanitizer's allocator, unlike the C library's, isn't ready for fork: a lock of it that another thread holds
/// at that moment stays locked in the child. A thread that sleeps holds none. Tests fork while threads of a backend
/// wait for something, so this comes true; it gives up on one that runs all the time.
inline void let_others_sleep() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!others_sleep() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
}

/// Runs `body` in a child, which must end itself; one that hangs is killed by SIGALRM after four minutes.
inline ChildResult run_child(const std::function<void()>& body) {
  int ends[2] = {-1, -1};
  REQUIRE(::pipe(ends) == 0);
  std::fflush(nullptr);
  let_others_sleep();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(240);
    ::dup2(ends[1], 2);
    ::close(ends[0]);
    ::close(ends[1]);
    body();
    ::_exit(111);
  }
  ::close(ends[1]);
  ChildResult result;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof(buffer))) > 0;) {
    result.errors.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  REQUIRE(::waitpid(child, &result.status, 0) == child);
  CAPTURE(result.errors);
  return result;
}

}  // namespace anyplace_test
