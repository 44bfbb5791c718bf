// SPDX-License-Identifier: Apache-2.0
//
// Another process of a test's: a program that is executed, or a function that runs in a forked child. What it writes is
// kept, and one that hangs is killed.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace test {

/// Environment variables by their names.
using Variables = std::map<std::string, std::string>;

/// How a process ended, and what it wrote.
struct Ended {
  int status = -1;    ///< its exit status, or 128 + the signal that it died of; as of a shell, 127: it wasn't started
  int signal = 0;     ///< that it died of; 0: it exited
  bool hung = false;  ///< it was killed, because its time was over
  std::string out;    ///< standard output, and standard error too unless the two are apart
  std::string err;
};

/// What takes so long hangs.
inline constexpr std::chrono::seconds longest{240};

/// What comes out of a pipe until all who can write to it have gone. The descriptor is closed.
Ended read_to_end(int descriptor, std::chrono::milliseconds limit = longest);

/// What a process has for its standard streams: descriptors of this process, or one of the names here.
struct Streams {
  static constexpr int own = -1;    ///< as this process
  static constexpr int empty = -2;  ///< of input: it is at its end
  static constexpr int kept = -3;   ///< a pipe. Ended has what comes out of it, and Process::in() writes into it.
  static constexpr int terminal =
      -4;  ///< as `kept`, but a terminal, one for all streams; of input only with the output
  static constexpr int with_out = -5;  ///< of errors: where the output goes
  static constexpr int closed = -6;

  int in = empty;
  int out = kept;
  int err = with_out;
  unsigned columns = 80;  ///< of a terminal
};

/// A process. It is killed when this ends before it. For one thread, unless a function says otherwise.
class Process {
 public:
  /// Executes words[0], a file or a name that PATH leads to. It has this process's environment without what begins like
  /// one of `without`, and with `variables`.
  explicit Process(const std::vector<std::string>& words, const Variables& variables = {}, const Streams& streams = {},
                   const std::vector<std::string>& without = {});
  /// Runs `body` in a forked child. It is to end its process; when it throws, exit() is called with 99, and when it
  /// returns, the status is 127. Fork before the first use of a backend, unless the fork is what is tested.
  explicit Process(const std::function<void()>& body, const Streams& streams = {});
  Process(Process&& other) noexcept;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  /// 0 once it has been waited for.
  pid_t pid() const noexcept { return pid_; }
  /// This process's ends of the pipes or the terminal; -1 where there is none.
  int in() const noexcept { return in_; }
  int out() const noexcept { return out_; }

  /// Keeps what was written, for which it waits so long at most. False when nobody can write any more.
  bool read(std::chrono::milliseconds most);
  /// What has been kept of the output.
  const std::string& said() const noexcept { return ended_.out; }

  /// Kills it at once, and waits for that. Any thread, once.
  void kill() noexcept;

  /// Reads until nobody can write any more, and waits for the end. When the time is over, the process is sent `signal`;
  /// if that isn't SIGKILL, it has a second for its last words.
  Ended end(std::chrono::milliseconds limit = longest, int signal = SIGKILL);

 private:
  friend Ended read_to_end(int descriptor, std::chrono::milliseconds limit);
  Process() = default;
  std::array<int, 3> make_ends(const Streams& streams);
  void close_ends_of_child();
  void keep(int& descriptor, std::string& text);
  void wait() noexcept;

  pid_t pid_ = 0;
  int in_ = -1, out_ = -1, err_ = -1;
  std::vector<int> of_child_;  ///< descriptors that are closed here once the process has them
  Ended ended_;
};

/// Executes a program in place of this process, as Process does. Status 127 if it can't be.
[[noreturn]] void execute(const std::vector<std::string>& words, const Variables& variables,
                          const std::vector<std::string>& without = {});

/// Runs `body` in a forked child, which then ends through exit(), with the status that `body` returned.
Ended in_child(const std::function<int()>& body, std::chrono::milliseconds limit = longest);

}  // namespace test
