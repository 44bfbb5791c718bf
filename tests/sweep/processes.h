// SPDX-License-Identifier: Apache-2.0
//
// Many processes, as many at once as there are processors: what each writes, and how it ends.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sweep {

/// For one process; a hang is what it is for, so it is long.
constexpr auto patience = std::chrono::seconds(120);

struct Process {
  pid_t pid = -1;
  int output = -1;
  std::chrono::steady_clock::time_point deadline;
  bool hung = false;
  int status = 0;    ///< as waitpid gave it
  std::string said;  ///< on standard output and standard error
};

/// `body` runs in the process, and doesn't return.
template <class Body>
void start(Process& process, Body&& body) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  process.output = ends[0];
  process.deadline = std::chrono::steady_clock::now() + patience;
  std::fflush(nullptr);
  process.pid = fork();
  if (process.pid < 0) throw std::runtime_error("no process");
  if (process.pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    body();
    _exit(127);
  }
  close(ends[1]);
}

/// Reads what there is. True when the process is over; one that hangs is ended with `signal`.
inline bool advance(Process& process, int signal) {
  pollfd ready{process.output, POLLIN, 0};
  if (poll(&ready, 1, 20) > 0) {
    char chunk[4096];
    const ssize_t got = read(process.output, chunk, sizeof(chunk));
    if (got > 0) {
      process.said.append(chunk, static_cast<std::size_t>(got));
      return false;
    }
  } else if (std::chrono::steady_clock::now() < process.deadline) {
    return false;
  } else {
    process.hung = true;
    kill(process.pid, signal);
  }
  close(process.output);
  waitpid(process.pid, &process.status, 0);
  return true;
}

/// Starts with `next()` while `more()`, and gives each that is over to `judge`.
template <class Child, class More, class Next, class Judge>
void run_all(int signal, More&& more, Next&& next, Judge&& judge) {
  const std::size_t at_once = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Child> running;
  while (more() || !running.empty()) {
    while (more() && running.size() < at_once) running.push_back(next());
    for (std::size_t i = 0; i < running.size();) {
      if (!advance(running[i], signal)) {
        ++i;
        continue;
      }
      judge(running[i]);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

}  // namespace sweep
