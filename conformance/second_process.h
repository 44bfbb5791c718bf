// SPDX-License-Identifier: Apache-2.0
// A second process of a case, and how the two communicate. It is forked before the backend is used, so that each
// process initialises it for itself.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "case.h"

namespace anyplace::conformance {

/// One process's end of the connection between the two.
class Talk {
 public:
  Talk(int in, int out) noexcept : in_(in), out_(out) {}

  // The parameters tell the caller's position.
  void send(const std::vector<std::byte>& handle, const char* file = __builtin_FILE(),
            int line = __builtin_LINE()) const {
    const std::uint64_t length = handle.size();
    put(&length, sizeof(length), file, line);
    put(handle.data(), handle.size(), file, line);
  }
  std::vector<std::byte> receive(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    step(file, line, "waiting for what the other process says");
    std::uint64_t length = 0;
    get(&length, sizeof(length), file, line);
    CHECK(length <= 1 << 16);
    std::vector<std::byte> handle(length);
    get(handle.data(), handle.size(), file, line);
    return handle;
  }
  void tell(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const { send({}, file, line); }
  void hear(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    static_cast<void>(receive(file, line));
  }

 private:
  void put(const void* from, std::size_t size, const char* file, int line) const {
    if (write(out_, from, size) != static_cast<ssize_t>(size)) check_failed(file, line, "the other process has ended");
  }
  void get(void* to, std::size_t size, const char* file, int line) const {
    for (auto* at = static_cast<char*>(to); size != 0;) {
      pollfd readable{in_, POLLIN, 0};
      constexpr int most_ms = 60'000;
      const bool there = poll(&readable, 1, most_ms) > 0;
      const ssize_t count = there ? ::read(in_, at, size) : 0;
      if (count <= 0) {
        check_failed(file, line, there ? "the other process has ended" : "the other process says nothing for a minute");
      }
      at += count;
      size -= static_cast<std::size_t>(count);
    }
  }

  int in_;
  int out_;
};

/// A process that runs `body`. If that fails, the case fails at the end.
class Second {
 public:
  explicit Second(const std::function<void(const Talk&)>& body) {
    if (pipe(to_) != 0 || pipe(from_) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    child_ = fork();
    if (child_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child_ == 0) run(body);
    close(to_[0]);
    close(from_[1]);
    signal(SIGPIPE, SIG_IGN);
  }
  Second(const Second&) = delete;
  Second& operator=(const Second&) = delete;
  ~Second() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    close(to_[1]);
    close(from_[0]);
  }

  Talk talk() const noexcept { return {from_[0], to_[1]}; }
  void kill_now() {
    kill(child_, SIGKILL);
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) continue;
    child_ = 0;
  }
  void must_end_well(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    int status = 0;
    while (waitpid(child_, &status, 0) < 0 && errno == EINTR) continue;
    child_ = 0;
    check_end("second process", status, file, line);
  }

 private:
  [[noreturn]] void run(const std::function<void(const Talk&)>& body) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(to_[1]);
    close(from_[0]);
    if (end_well("second process", [&] { body(Talk(to_[0], from_[1])); })) std::exit(0);  // ends as a program does
    _exit(1);
  }

  int to_[2];
  int from_[2];
  pid_t child_ = 0;
};

}  // namespace anyplace::conformance
