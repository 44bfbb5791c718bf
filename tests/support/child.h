// SPDX-License-Identifier: Apache-2.0
// Child processes for tests: what must happen at exit or after a fork can't be looked at from inside.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace test {

struct ChildResult {
  bool timed_out = false;  ///< it was killed
  int signal = 0;          ///< it died of; 0: it exited
  int status = -1;         ///< its exit status
  std::string output;      ///< standard output and standard error together
};

/// AddressSanitizer forks with its allocator's locks as they are. A thread that is just starting may hold one, and the
/// child would wait for that forever. So other threads are given the time to fall asleep.
inline void let_other_threads_settle() {
#ifdef __SANITIZE_ADDRESS__
  constexpr int most_looks = 100'000;  // a thread that is busy all the time is left to its luck
  const auto all_asleep = [] {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      if (task.path().filename() == std::to_string(::gettid())) continue;
      std::ifstream stat(task.path() / "stat");
      std::string line;
      std::getline(stat, line);
      const std::size_t name_end = line.rfind(") ");
      if (name_end != std::string::npos && line[name_end + 2] == 'R') return false;
    }
    return true;
  };
  for (int look = 0; look < most_looks && !all_asleep(); ++look) std::this_thread::yield();
#endif
}

/// Forks, and runs `body` in the child with its output caught; then the child ends through exit(), with the status that
/// `body` returned. Fork before the first use of a backend, unless the fork is what is tested.
inline ChildResult in_child(const std::function<int()>& body,
                            std::chrono::milliseconds timeout = std::chrono::seconds(240)) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("pipe failed");
  // What is buffered now would be written by both.
  std::cout.flush();
  std::fflush(nullptr);
  let_other_threads_settle();
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    ::dup2(ends[1], 1);
    ::dup2(ends[1], 2);
    ::close(ends[0]);
    ::close(ends[1]);
    int status = 99;
    try {
      status = body();
    } catch (const std::exception& exception) {
      const std::string text = std::string("uncaught: ") + exception.what() + "\n";
      static_cast<void>(!::write(2, text.data(), text.size()));
    }
    std::exit(status);
  }
  ::close(ends[1]);
  ChildResult result;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  // The pipe closes when the child ends: that is waited for, not the child.
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd readable{ends[0], POLLIN, 0};
    if (left <= 0 || ::poll(&readable, 1, static_cast<int>(left)) == 0) {
      result.timed_out = true;
      ::kill(child, SIGKILL);
      break;
    }
    char bytes[4096];
    const ssize_t count = ::read(ends[0], bytes, sizeof(bytes));
    if (count <= 0) break;
    result.output.append(bytes, static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace test
