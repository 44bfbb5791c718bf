// SPDX-License-Identifier: Apache-2.0
//
// Peer: the second process of a case, and what is left of shared things in this one.
#pragma once

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "ipc/hex.h"
#include "ipc/ping_pong.h"

extern char** environ;

namespace test {

/// The device that the cases share something of: of cpu_sim, or of the backend that the environment names.
inline std::string place_of_test(int index = 0) {
  const char* const backend = std::getenv("ANYPLACE_TEST_IPC_BACKEND");
  return std::string(backend != nullptr ? backend : "cpu_sim") + ":" + std::to_string(index);
}

class Peer {
 public:
  explicit Peer(const std::string& place = place_of_test()) {
    int to_peer[2];
    int from_peer[2];
    if (pipe2(to_peer, O_CLOEXEC) != 0 || pipe2(from_peer, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to_peer[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from_peer[1], 1);
    std::string program = IPC_PEER;
    std::string argument = place;
    char* const arguments[] = {program.data(), argument.data(), nullptr};
    const int error = posix_spawn(&pid_, IPC_PEER, &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(to_peer[0]);
    close(from_peer[1]);
    pipes_ = {from_peer[0], to_peer[1]};
    if (error != 0) throw std::runtime_error("ipc_peer wasn't started");
    signal(SIGPIPE, SIG_IGN);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() {
    kill();
    close(pipes_.in);
    close(pipes_.out);
  }

  /// Sends a command and returns the answer, whatever it is.
  std::string ask(const std::string& command) {
    say(command);
    return listen();
  }
  /// The same, for a command that must succeed: what comes after "ok ".
  std::string must(const std::string& command) {
    const std::string answer = ask(command);
    if (answer.rfind("ok", 0) != 0) throw std::runtime_error(command.substr(0, 40) + ": " + answer);
    return answer.size() > 3 ? answer.substr(3) : "";
  }
  std::vector<std::byte> handle(const std::string& command) { return from_hex(must(command)); }
  void send(const std::string& command, std::span<const std::byte> handle) { must(command + " " + to_hex(handle)); }

  void say(const std::string& command) {
    const std::string line = command + "\n";
    if (write(pipes_.out, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      throw std::runtime_error("the peer has ended");
    }
  }
  std::string listen() {
    constexpr int most_ms = 120'000;
    std::string line;
    for (;;) {
      pollfd readable{pipes_.in, POLLIN, 0};
      if (poll(&readable, 1, most_ms) == 0) throw std::runtime_error("the peer doesn't answer");
      char letter = 0;
      if (read(pipes_.in, &letter, 1) != 1) throw std::runtime_error("the peer has ended");
      if (letter == '\n') return line;
      line += letter;
    }
  }

  const Pipes& pipes() const noexcept { return pipes_; }
  pid_t pid() const noexcept { return pid_; }

  /// Ends it at once, and waits for that. Any thread, once.
  void kill() noexcept {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  Pipes pipes_{-1, -1};
};

/// What of files and shared memory a process has.
struct Belongings {
  std::size_t descriptors = 0;
  std::size_t files_in_memory = 0;  ///< mapped
  std::size_t shared_memory = 0;    ///< names in /dev/shm that are ours; other programs have theirs there

  friend bool operator==(const Belongings&, const Belongings&) = default;

  static Belongings now() {
    const auto count = [](const char* folder) {
      std::error_code error;
      return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder, error), {}));
    };
    Belongings found;
    found.descriptors = count("/proc/self/fd");
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", none)) {
      if (entry.path().filename().string().find("anyplace") != std::string::npos) ++found.shared_memory;
    }
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find("/memfd:anyplace shares") != std::string::npos) ++found.files_in_memory;
      if (line.find("/memfd:anyplace cpu_sim events") != std::string::npos) ++found.files_in_memory;
    }
    return found;
  }
};

}  // namespace test
