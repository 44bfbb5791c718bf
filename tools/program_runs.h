// SPDX-License-Identifier: Apache-2.0
// Runs of one program, several at a time, each in a folder of its own. What the runs are for is said by their
// variables.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace anyplace::tool {

/// Environment variables: names and values.
using RunVariables = std::vector<std::pair<std::string, std::string>>;

/// A run that is over.
struct ProgramRun {
  std::uint64_t number = 0;  ///< names its folder, too
  int status = -1;           ///< its exit status; -1 if it didn't exit
  int signal = 0;            ///< that it died of; 0 if it exited or was killed for its time
  bool hung = false;
  bool interrupted = false;  ///< it was killed because this process was interrupted, and says nothing
  int start_error = 0;       ///< why the program couldn't be executed, an errno; its status is then 127
  std::chrono::milliseconds took{0};
};

class RunPool {
 public:
  /// Runs are made in folders of `folder`. `words` is the program, by an absolute path or a name that PATH leads to,
  /// and its arguments. A run that takes longer than `limit` is killed, and so is what a run left behind in its process
  /// group.
  RunPool(std::vector<std::string> words, std::string folder, unsigned jobs, std::chrono::milliseconds limit)
      : words_(std::move(words)), folder_(std::move(folder)), jobs_(jobs), limit_(limit) {}
  RunPool(const RunPool&) = delete;  // it owns processes
  RunPool& operator=(const RunPool&) = delete;
  ~RunPool();

  bool has_room() const noexcept { return running_.size() < jobs_; }
  bool is_empty() const noexcept { return running_.empty(); }
  /// Starts a run, in this process's environment with the variables instead of those of the same names. Only one thread
  /// may call it. Throws std::runtime_error if no process can be started, or no folder made.
  void start(std::uint64_t number, const RunVariables& variables);
  /// Waits until one of the runs is over; there must be one.
  ProgramRun wait();

 private:
  struct Running {
    pid_t pid = 0;
    int error_pipe = -1;
    std::chrono::steady_clock::time_point started;
    ProgramRun run;
  };
  bool is_over(Running& running) const;

  std::vector<std::string> words_;
  std::string folder_;
  unsigned jobs_;
  std::chrono::milliseconds limit_;
  std::list<Running> running_;
};

/// How long a run may take if the program takes so long by itself: 20 times that, and a minute at least.
std::chrono::milliseconds limit_of_runs(std::chrono::milliseconds plain);

/// The folder of a run: `files` is the program's current folder, `stdout` and `stderr` are what it wrote.
std::string run_folder(const std::string& folder, std::uint64_t number);

/// The names of the files, `stdout` among them, that aren't the same in the two runs' folders.
std::set<std::string> differing_files(const std::string& folder, const std::string& other);

/// A program that is named by a relative path, by its absolute one, because each run has another current folder.
std::string absolute_program(const std::string& word);

/// A new folder for runs, whose name begins with `anyplace-`KIND. Throws std::runtime_error.
std::string make_runs_folder(const std::string& kind);

/// The word as a shell takes it.
std::string quoted_word(const std::string& word);

/// A line for a shell: the variables, and then the words.
std::string shell_line(const RunVariables& variables, const std::vector<std::string>& words);

/// The variable's value; "" if it isn't set.
std::string environment_variable(const char* name);

}  // namespace anyplace::tool
