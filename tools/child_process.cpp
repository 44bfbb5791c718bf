// SPDX-License-Identifier: Apache-2.0
#include "child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace anyplace::tool {
namespace {

using Clock = std::chrono::steady_clock;

/// A report of 4096 devices takes less than 8 MiB.
constexpr std::size_t max_result_bytes = std::size_t{32} << 20;
constexpr std::size_t max_output_bytes = 4096;
/// How long a killed child may take to end. One that takes longer is stuck in the kernel, where no signal reaches it.
constexpr std::chrono::seconds kill_limit{2};

class Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;  // closed once
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  void close() noexcept {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }
  int number() const noexcept { return number_; }
  bool open() const noexcept { return number_ >= 0; }

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

bool make_pipe(Pipe& made) noexcept {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  made.read = Descriptor(ends[0]);
  made.write = Descriptor(ends[1]);
  return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

/// Reads all that is available into `into`, and closes the descriptor at the end of the file. With `keep_end` only the
/// last `limit` bytes are kept. Returns false if there were more than `limit` bytes without it.
bool drain(Descriptor& from, std::string& into, std::size_t limit, bool keep_end) {
  std::array<char, 65536> chunk;
  while (from.open()) {
    const ssize_t got = read(from.number(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;  // nothing is available now
    if (got == 0) {
      from.close();
      break;
    }
    into.append(chunk.data(), static_cast<std::size_t>(got));
    if (into.size() > limit) {
      if (!keep_end) return false;
      into.erase(0, into.size() - limit);
      break;  // a child that writes without end must not keep us here
    }
  }
  return true;
}

/// Starts the child. Returns 0, or the errno of the call that failed.
int spawn(const std::vector<std::string>& arguments, const Pipe& result, const Pipe& output, pid_t* child) {
  std::string program = "/proc/self/exe";
  std::vector<std::string> copies = arguments;
  std::vector<char*> argv{program.data()};
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.write.number(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.write.number(), STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, result.write.number(), child_result_descriptor);

  // The child has a process group of its own, so that processes that it starts can be ended with it, and the signals of
  // a fresh program.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigaddset(&signals, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &signals);

  const int failed = posix_spawn(child, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

/// Whether the child has ended; it stays a zombie, so that its number, and its group's, can't be anybody else's yet.
bool has_ended(pid_t child) noexcept {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

/// Ends whatever is left of the child's group, and the child.
void end_group(pid_t child) noexcept {
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
}

/// Waits for a killed child to end. False if the child is stuck in the kernel.
bool reap_killed(pid_t child) noexcept {
  const Clock::time_point deadline = Clock::now() + kill_limit;
  while (!has_ended(child)) {
    if (Clock::now() >= deadline) return false;
    poll(nullptr, 0, 1);
  }
  waitpid(child, nullptr, 0);
  return true;
}

int milliseconds_until(Clock::time_point deadline, int most) noexcept {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, most));
}

void wait_for_news(const Pipe& result, const Pipe& output, Clock::time_point deadline) noexcept {
  std::array<pollfd, 2> watched{};
  watched[0] = {result.read.number(), POLLIN, 0};
  watched[1] = {output.read.number(), POLLIN, 0};
  // A child that has closed both pipes is about to end. No descriptor tells that it has, so the next look is soon.
  const bool all_closed = !result.read.open() && !output.read.open();
  poll(watched.data(), watched.size(), milliseconds_until(deadline, all_closed ? 1 : 20));
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& arguments, std::chrono::milliseconds limit) {
  ChildResult child;
  Pipe result;
  Pipe output;
  pid_t process = 0;
  if (!make_pipe(result) || !make_pipe(output)) {
    child.number = errno;
    return child;
  }
  child.number = spawn(arguments, result, output, &process);
  if (child.number != 0) return child;
  result.write.close();
  output.write.close();

  Clock::time_point deadline = Clock::now() + limit;
  for (;;) {
    const bool ended = has_ended(process);
    const std::size_t known = child.result.size();
    // The child was seen to have ended before this read, so all that it wrote itself is in the pipes by now.
    const bool bounded = drain(result.read, child.result, max_result_bytes, false);
    drain(output.read, child.output, max_output_bytes, true);
    if (ended) break;
    if (child.result.size() > known) deadline = Clock::now() + limit;
    if (!bounded || Clock::now() >= deadline) {
      child.end = bounded ? ChildResult::End::timed_out : ChildResult::End::too_much;
      end_group(process);
      reap_killed(process);
      return child;
    }
    wait_for_news(result, output, deadline);
  }

  end_group(process);
  int status = 0;
  waitpid(process, &status, 0);
  child.end = WIFSIGNALED(status) ? ChildResult::End::signalled : ChildResult::End::exited;
  child.number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  return child;
}

}  // namespace anyplace::tool
