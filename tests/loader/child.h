// SPDX-License-Identifier: Apache-2.0
//
// A child process made by fork, with what it writes to standard error and how it ended.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>
#include <string>

namespace anyplace_test {

struct ChildResult {
  int status = 0;      ///< of waitpid
  std::string errors;  ///< what it wrote to standard error
  bool exited_with(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
};

/// Runs `body` in a child, which must end itself; one that hangs is killed by SIGALRM after a minute.
inline ChildResult run_child(const std::function<void()>& body) {
  int ends[2] = {-1, -1};
  REQUIRE(::pipe(ends) == 0);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(60);
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
