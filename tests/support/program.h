// SPDX-License-Identifier: Apache-2.0
// Program: another program as a process of this one's, whose output is kept.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

extern char** environ;

namespace test {

using Variables = std::map<std::string, std::string>;

struct Ended {
  int status = -1;  ///< 128 + the signal that it died of
  bool hung = false;
  std::string output;
};

/// What takes so long hangs.
inline constexpr std::chrono::seconds longest{240};

/// What comes out of a pipe until all who can write to it have gone. The descriptor is closed.
inline Ended read_to_end(int descriptor, std::chrono::seconds limit = longest) {
  Ended ended;
  const auto until = std::chrono::steady_clock::now() + limit;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd readable{descriptor, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&readable, 1, static_cast<int>(left.count())) == 0) {
      ended.hung = true;
      break;
    }
    char part[4096];
    const ssize_t got = ::read(descriptor, part, sizeof(part));
    if (got <= 0) break;
    ended.output.append(part, static_cast<std::size_t>(got));
  }
  ::close(descriptor);
  return ended;
}

/// A process whose output is kept.
class Program {
 public:
  Program(const std::vector<std::string>& words, const Variables& variables) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    std::vector<std::string> all;
    for (char** one = environ; *one != nullptr; ++one) {
      const std::string line = *one;
      if (variables.count(line.substr(0, line.find('='))) == 0) all.push_back(line);
    }
    for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
    std::vector<char*> environment, arguments;
    for (std::string& line : all) environment.push_back(line.data());
    environment.push_back(nullptr);
    std::vector<std::string> copies = words;
    for (std::string& word : copies) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int error = ::posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    output_ = ends[0];
    if (error != 0) pid_ = 0;
  }
  Program(Program&& other) noexcept : pid_(std::exchange(other.pid_, 0)), output_(std::exchange(other.output_, -1)) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    kill();
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    if (output_ >= 0) ::close(output_);
  }

  void kill() noexcept {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
  }
  /// Waits for its end; it hangs if that takes longer than that.
  Ended end(std::chrono::seconds limit = longest) {
    Ended ended = read_to_end(std::exchange(output_, -1), limit);
    if (ended.hung) kill();
    int status = 0;
    if (pid_ > 0) ::waitpid(std::exchange(pid_, 0), &status, 0);
    ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ended;
  }

 private:
  pid_t pid_ = 0;
  int output_ = -1;
};

}  // namespace test
