// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

namespace test {
namespace {

using Clock = std::chrono::steady_clock;

/// Output that grows without end is cut.
constexpr std::size_t most_output = std::size_t{64} << 20;

struct Pipe {
  int read;
  int write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  return {ends[0], ends[1]};
}

struct Terminal {
  int master;
  int slave;
};

Terminal make_terminal(unsigned columns) {
  Terminal made{};
  winsize size{};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(columns);
  if (::openpty(&made.master, &made.slave, nullptr, nullptr, &size) != 0) throw std::runtime_error("no terminal");
  for (const int descriptor : {made.master, made.slave}) ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return made;
}

/// The words and the environment of a program, as the system takes them.
class ProgramTexts {
 public:
  ProgramTexts(const std::vector<std::string>& words, const Variables& variables,
               const std::vector<std::string>& without)
      : words_(words) {
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view text = *entry;
      const auto begins = [&](const std::string& start) { return text.starts_with(start); };
      const bool replaced = variables.count(std::string(text.substr(0, text.find('=')))) != 0;
      if (!replaced && std::none_of(without.begin(), without.end(), begins)) entries_.emplace_back(text);
    }
    for (const auto& [name, value] : variables) entries_.push_back(name + "=" + value);
    for (std::string& word : words_) arguments.push_back(word.data());
    for (std::string& entry : entries_) environment.push_back(entry.data());
    arguments.push_back(nullptr);
    environment.push_back(nullptr);
  }
  ProgramTexts(const ProgramTexts&) = delete;  // the pointers lead into it
  ProgramTexts& operator=(const ProgramTexts&) = delete;

  std::vector<char*> arguments, environment;

 private:
  std::vector<std::string> words_, entries_;
};

bool other_threads_sleep() {
  const std::string self = std::to_string(::gettid());
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == self) continue;
    std::ifstream file(task.path() / "stat");
    std::string stat;
    // "pid (name) state ...", and a name may have anything in it. A thread that has just ended has no file.
    if (std::getline(file, stat) && stat.substr(stat.rfind(')') + 2, 1) == "R") return false;
  }
  return true;
}

/// AddressSanitizer's allocator, unlike the C library's, isn't ready for fork: a lock of it that another thread holds
/// at that moment stays locked in the child. A thread that sleeps holds none. One that runs all the time is left to its
/// luck.
void let_other_threads_sleep() {
  const auto deadline = Clock::now() + std::chrono::seconds(10);
  while (!other_threads_sleep() && Clock::now() < deadline) std::this_thread::yield();
}

void use_as_standard_streams(const std::array<int, 3>& ends) noexcept {
  for (int number = 0; number < 3; ++number) {
    const int end = ends[static_cast<std::size_t>(number)];
    if (end == Streams::closed) ::close(number);
    if (end >= 0) ::dup2(end, number);
  }
}

[[noreturn]] void run_to_end(const std::function<void()>& body) noexcept {
  try {
    body();
  } catch (const std::exception& exception) {
    const std::string text = std::string("uncaught: ") + exception.what() + "\n";
    static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
    std::exit(99);
  }
  ::_exit(127);
}

}  // namespace

// ---- Starting ------------------------------------------------------------------------------------------------------

/// What the process gets as its standard streams.
std::array<int, 3> Process::make_ends(const Streams& streams) {
  std::array<int, 3> ends{streams.in, streams.out, streams.err};
  const auto give = [&](int descriptor) {
    of_child_.push_back(descriptor);
    return descriptor;
  };
  if (streams.in == Streams::empty) ends[0] = give(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (streams.in == Streams::kept) {
    const Pipe pipe = make_pipe();
    ends[0] = give(pipe.read);
    in_ = pipe.write;
  }
  for (const auto& [number, own] : {std::pair(1u, &out_), std::pair(2u, &err_)}) {
    if (ends[number] != Streams::kept) continue;
    const Pipe pipe = make_pipe();
    ends[number] = give(pipe.write);
    *own = pipe.read;
  }
  if (streams.out == Streams::terminal || streams.err == Streams::terminal) {
    const Terminal terminal = make_terminal(streams.columns);
    std::replace(ends.begin(), ends.end(), Streams::terminal, give(terminal.slave));
    (streams.out == Streams::terminal ? out_ : err_) = terminal.master;
    if (streams.in == Streams::terminal) in_ = ::fcntl(terminal.master, F_DUPFD_CLOEXEC, 0);
  }
  if (streams.err == Streams::with_out) ends[2] = ends[1];
  return ends;
}

void Process::close_ends_of_child() {
  for (const int descriptor : of_child_) ::close(descriptor);
  of_child_.clear();
}

Process::Process(const std::vector<std::string>& words, const Variables& variables, const Streams& streams,
                 const std::vector<std::string>& without) {
  const std::array<int, 3> ends = make_ends(streams);
  const ProgramTexts texts(words, variables, without);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int number = 0; number < 3; ++number) {
    const int end = ends[static_cast<std::size_t>(number)];
    if (end == Streams::closed) posix_spawn_file_actions_addclose(&actions, number);
    if (end >= 0) posix_spawn_file_actions_adddup2(&actions, end, number);
  }
  const int error =
      ::posix_spawnp(&pid_, texts.arguments[0], &actions, nullptr, texts.arguments.data(), texts.environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close_ends_of_child();
  if (error == 0) return;
  pid_ = 0;
  ended_.status = 127;
}

Process::Process(const std::function<void()>& body, const Streams& streams) {
  const std::array<int, 3> ends = make_ends(streams);
  // What is buffered now would be written by both.
  std::cout.flush();
  std::fflush(nullptr);
  let_other_threads_sleep();
  pid_ = ::fork();
  if (pid_ == 0) {
    use_as_standard_streams(ends);
    close_ends_of_child();
    for (const int descriptor : {in_, out_, err_}) {
      if (descriptor >= 0) ::close(descriptor);
    }
    run_to_end(body);
  }
  close_ends_of_child();
  if (pid_ < 0) throw std::runtime_error("no process");
}

void execute(const std::vector<std::string>& words, const Variables& variables,
             const std::vector<std::string>& without) {
  const ProgramTexts texts(words, variables, without);
  ::execvpe(texts.arguments[0], texts.arguments.data(), texts.environment.data());
  ::_exit(127);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      in_(std::exchange(other.in_, -1)),
      out_(std::exchange(other.out_, -1)),
      err_(std::exchange(other.err_, -1)),
      ended_(std::move(other.ended_)) {}

Process::~Process() {
  kill();
  for (const int descriptor : {in_, out_, err_}) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

// ---- Until it ends -------------------------------------------------------------------------------------------------

/// Takes what can be read now. The descriptor is closed at the end, which a terminal says with an error.
void Process::keep(int& descriptor, std::string& text) {
  std::array<char, 4096> part;
  const ssize_t got = ::read(descriptor, part.data(), part.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) {
    ::close(std::exchange(descriptor, -1));
  } else if (text.size() < most_output) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

bool Process::read(std::chrono::milliseconds most) {
  // poll passes over descriptors below zero.
  std::array<pollfd, 2> watched{pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}};
  if (out_ < 0 && err_ < 0) return false;
  if (::poll(watched.data(), watched.size(), static_cast<int>(most.count())) > 0) {
    if (watched[0].revents != 0) keep(out_, ended_.out);
    if (watched[1].revents != 0) keep(err_, ended_.err);
  }
  return out_ >= 0 || err_ >= 0;
}

void Process::wait() noexcept {
  if (pid_ <= 0) return;
  int status = 0;
  pid_t found = 0;
  while ((found = ::waitpid(pid_, &status, 0)) < 0 && errno == EINTR) continue;
  if (std::exchange(pid_, 0) != found) return;
  ended_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  ended_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + ended_.signal;
}

void Process::kill() noexcept {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  wait();
}

Ended Process::end(std::chrono::milliseconds limit, int signal) {
  using std::chrono::milliseconds;
  const auto read_until = [this](Clock::time_point deadline) {
    while (read(milliseconds(0))) {
      const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) return false;
      read(left);
    }
    return true;
  };
  if (!read_until(Clock::now() + limit)) {
    ended_.hung = true;
    if (signal != SIGKILL) {
      if (pid_ > 0) ::kill(pid_, signal);
      read_until(Clock::now() + std::chrono::seconds(1));
    }
    kill();
  }
  wait();
  return std::move(ended_);
}

Ended in_child(const std::function<int()>& body, std::chrono::milliseconds limit) {
  return Process([&] { std::exit(body()); }).end(limit);
}

Ended read_to_end(int descriptor, std::chrono::milliseconds limit) {
  Process nobody;
  nobody.out_ = descriptor;
  return nobody.end(limit);
}

}  // namespace test
