// SPDX-License-Identifier: Apache-2.0
#include "forked.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace anyplace::tool {
namespace {

using Clock = std::chrono::steady_clock;

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

/// Runs `body` in the child, writes its result and ends by _exit, because the parent finishes what both share (buffers,
/// exit handlers).
[[noreturn]] void run_child_side(pid_t parent, int pipe_end, const std::function<Json()>& body) {
  // A child whose parent was killed is of no use to anybody.
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

/// Whether data or the end of the pipe can be read before the deadline.
bool readable_until(int pipe_end, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd watched{pipe_end, POLLIN, 0};
    const int found = poll(&watched, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX)));
    if (found > 0) return true;
    if (found == 0 && left <= 0) return false;
  }
}

/// All that the child wrote; nothing if it still hasn't ended by the deadline.
std::optional<std::string> read_all(int pipe_end, std::optional<Clock::time_point> deadline) {
  std::string all;
  std::array<char, 4096> chunk;
  for (;;) {
    if (deadline && !readable_until(pipe_end, *deadline)) return std::nullopt;
    const ssize_t got = read(pipe_end, chunk.data(), chunk.size());
    if (got == 0) return all;
    if (got < 0 && errno != EINTR) return all;
    if (got > 0) all.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Json in_forked_child(const std::function<Json()>& body, std::optional<std::chrono::milliseconds> limit) {
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
  const std::optional<std::string> answer =
      read_all(ends[0], limit ? std::optional(Clock::now() + *limit) : std::nullopt);
  close(ends[0]);
  if (!answer) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!answer)
    fail(fmt::format("a child process gave no answer within {:g} s", static_cast<double>(limit->count()) / 1000));
  if (WIFSIGNALED(status)) fail(std::string("a child process died: ") + strsignal(WTERMSIG(status)));
  Json json = Json::parse(*answer, nullptr, false);
  if (json.is_discarded()) fail("a child process ended without an answer");
  if (json.contains("exception")) fail(json["exception"].get<std::string>());
  return json;
}

}  // namespace anyplace::tool
