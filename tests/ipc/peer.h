// SPDX-License-Identifier: Apache-2.0
//
// Peer: the second process of a case, and what is left of shared things in this one.
#pragma once

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "ipc/hex.h"
#include "ipc/ping_pong.h"
#include "support/process.h"

namespace test {

/// The device that the cases share something of: of cpu_sim, or of the backend that the environment names.
inline std::string place_of_test(int index = 0) {
  const char* const backend = std::getenv("ANYPLACE_TEST_IPC_BACKEND");
  return std::string(backend != nullptr ? backend : "cpu_sim") + ":" + std::to_string(index);
}

class Peer {
 public:
  explicit Peer(const std::string& place = place_of_test())
      : process_({IPC_PEER, place}, {}, {Streams::kept, Streams::kept, Streams::own}) {
    signal(SIGPIPE, SIG_IGN);
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
    if (write(process_.in(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      throw std::runtime_error("the peer has ended");
    }
  }
  std::string listen() {
    constexpr int most_ms = 120'000;
    std::string line;
    for (;;) {
      pollfd readable{process_.out(), POLLIN, 0};
      if (poll(&readable, 1, most_ms) == 0) throw std::runtime_error("the peer doesn't answer");
      char letter = 0;
      if (read(process_.out(), &letter, 1) != 1) throw std::runtime_error("the peer has ended");
      if (letter == '\n') return line;
      line += letter;
    }
  }

  Pipes pipes() const noexcept { return {process_.out(), process_.in()}; }
  pid_t pid() const noexcept { return process_.pid(); }

  /// Ends it at once, and waits for that. Any thread, once.
  void kill() noexcept { process_.kill(); }

 private:
  Process process_;
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
