// SPDX-License-Identifier: Apache-2.0
#include "forked.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace anyplace::tool {
namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

std::string answer_of(const std::function<Json()>& body) {
  try {
    return dump_line(body());
  } catch (const Error& error) {
    return dump_line(Json{{"error", error_json(error)}});
  } catch (const std::exception& error) {
    return dump_line(Json{{"exception", error.what()}});
  }
}

/// Leaves by _exit: what the child shares with its parent (buffers, exit handlers) is the parent's to finish.
[[noreturn]] void run_child_side(pid_t parent, int pipe_end, const std::function<Json()>& body) {
  // A child whose parent was killed has nobody to work for.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const std::string answer = answer_of(body);
  for (std::size_t at = 0; at < answer.size();) {
    const ssize_t written = write(pipe_end, answer.data() + at, answer.size() - at);
    if (written < 0 && errno != EINTR) _exit(1);
    if (written > 0) at += static_cast<std::size_t>(written);
  }
  _exit(0);
}

std::string read_all(int pipe_end) {
  std::string all;
  std::array<char, 4096> chunk;
  for (;;) {
    const ssize_t got = read(pipe_end, chunk.data(), chunk.size());
    if (got == 0) return all;
    if (got < 0 && errno != EINTR) return all;
    if (got > 0) all.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Json in_forked_child(const std::function<Json()>& body) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail(std::string("no pipe: ") + std::strerror(errno));
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    const int number = errno;
    close(ends[0]), close(ends[1]);
    fail(std::string("no child process: ") + std::strerror(number));
  }
  if (child == 0) {
    close(ends[0]);
    run_child_side(parent, ends[1], body);
  }
  close(ends[1]);
  const std::string answer = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) fail(std::string("a child process died: ") + strsignal(WTERMSIG(status)));
  Json json = Json::parse(answer, nullptr, false);
  if (json.is_discarded()) fail("a child process ended without an answer");
  if (json.contains("exception")) fail(json["exception"].get<std::string>());
  return json;
}

}  // namespace anyplace::tool
