// SPDX-License-Identifier: Apache-2.0
#include "program_runs.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "interruption.h"

namespace anyplace::tool {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int not_started_status = 127;

/// This process's environment, with the variables instead of those of the same names.
std::vector<std::string> environment_with(const RunVariables& variables) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const auto is_its = [&](const auto& one) { return text.starts_with(one.first + "="); };
    if (std::none_of(variables.begin(), variables.end(), is_its)) all.push_back(text);
  }
  for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The child's side: never returns. Where the program can't be executed, the errno goes into `error_pipe`, which else
/// is closed by the execution.
[[noreturn]] void become(const std::string& folder, char* const* words, char* const* variables, pid_t parent,
                         int error_pipe) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_DFL);  // this program ignores it
  const auto open_as = [](const std::string& path, int flags, int descriptor) {
    const int opened = open(path.c_str(), flags, 0666);
    return opened >= 0 && dup2(opened, descriptor) >= 0;
  };
  const bool ready = getppid() == parent && open_as("/dev/null", O_RDONLY, STDIN_FILENO) &&
                     open_as(folder + "/stdout", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO) &&
                     open_as(folder + "/stderr", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO) &&
                     chdir((folder + "/files").c_str()) == 0;
  if (ready) {
    close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    execvpe(words[0], words, variables);
    dprintf(STDERR_FILENO, "%s: %s\n", words[0], std::strerror(errno));
  }
  const int error = errno;
  static_cast<void>(!write(error_pipe, &error, sizeof error));
  _exit(not_started_status);
}

/// Names of the regular files below a folder, and of `stdout`.
std::set<std::string> file_names(const std::string& folder) {
  std::set<std::string> names{"stdout"};
  const fs::path files = folder + "/files";
  std::error_code error;
  for (fs::recursive_directory_iterator at(files, error), end; !error && at != end; at.increment(error)) {
    if (at->is_regular_file(error)) names.insert("files/" + fs::relative(at->path(), files, error).string());
  }
  return names;
}

bool same_content(const std::string& path, const std::string& other) {
  std::error_code error;
  const auto size = fs::file_size(path, error), other_size = fs::file_size(other, error);
  if (error || size != other_size) return false;
  std::ifstream one(path, std::ios::binary), two(other, std::ios::binary);
  using Bytes = std::istreambuf_iterator<char>;
  return one && two && std::equal(Bytes(one), Bytes(), Bytes(two), Bytes());
}

}  // namespace

RunPool::~RunPool() {
  for (Running& running : running_) {
    kill(-running.pid, SIGKILL);
    while (waitpid(running.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    close(running.error_pipe);
  }
}

void RunPool::start(std::uint64_t number, const RunVariables& variables) {
  Running started;
  started.run.number = number;
  const std::string folder = run_folder(folder_, number);
  fs::remove_all(folder);
  fs::create_directories(folder + "/files");
  std::vector<std::string> words = words_, environment = environment_with(variables);
  const std::vector<char*> word_pointers = pointers_to(words), environment_pointers = pointers_to(environment);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::runtime_error(std::string("can't make a pipe: ") + strerror(errno));
  const pid_t parent = getpid();
  started.started = Clock::now();
  started.pid = fork();
  if (started.pid == 0) become(folder, word_pointers.data(), environment_pointers.data(), parent, ends[1]);
  close(ends[1]);
  started.error_pipe = ends[0];
  if (started.pid < 0) {
    const int error = errno;
    close(ends[0]);
    throw std::runtime_error(std::string("can't start a process: ") + std::strerror(error));
  }
  setpgid(started.pid, started.pid);  // both sides do it, since either may come first
  running_.push_back(started);
}

/// Whether the run is over; then it is complete, and nothing of it is left behind.
bool RunPool::is_over(Running& running) const {
  int status = 0;
  ProgramRun& run = running.run;
  pid_t ended = waitpid(running.pid, &status, WNOHANG);
  if (ended == 0 && (interrupted() != 0 || Clock::now() - running.started >= limit_)) {
    (interrupted() != 0 ? run.interrupted : run.hung) = true;
    kill(-running.pid, SIGKILL);
    do {
      ended = waitpid(running.pid, &status, 0);
    } while (ended < 0 && errno == EINTR);
  }
  if (ended == 0) return false;
  kill(-running.pid, SIGKILL);
  run.took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - running.started);
  if (WIFEXITED(status)) run.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status) && !run.hung && !run.interrupted) run.signal = WTERMSIG(status);
  int error = 0;
  if (run.status == not_started_status && read(running.error_pipe, &error, sizeof error) == sizeof error) {
    run.start_error = error;
  }
  close(running.error_pipe);
  return true;
}

ProgramRun RunPool::wait() {
  for (;;) {
    for (auto one = running_.begin(); one != running_.end(); ++one) {
      if (!is_over(*one)) continue;
      const ProgramRun run = one->run;
      running_.erase(one);
      return run;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::chrono::milliseconds limit_of_runs(std::chrono::milliseconds plain) {
  return std::max<std::chrono::milliseconds>(std::chrono::minutes(1), plain * 20);
}

std::string run_folder(const std::string& folder, std::uint64_t number) {
  return folder + "/" + std::to_string(number);
}

std::set<std::string> differing_files(const std::string& folder, const std::string& other) {
  std::set<std::string> names = file_names(folder);
  names.merge(file_names(other));
  std::erase_if(names, [&](const std::string& name) { return same_content(folder + "/" + name, other + "/" + name); });
  return names;
}

std::string absolute_program(const std::string& word) {
  return word.find('/') == std::string::npos ? word : fs::absolute(word).lexically_normal().string();
}

std::string make_runs_folder(const std::string& kind) {
  std::string path = fs::absolute(fs::temp_directory_path() / ("anyplace-" + kind + "-XXXXXX")).string();
  if (mkdtemp(path.data()) == nullptr) {
    throw std::runtime_error("can't make the folder " + path + ": " + std::strerror(errno));
  }
  return path;
}

std::string quoted_word(const std::string& word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,=+@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_line(const RunVariables& variables, const std::vector<std::string>& words) {
  std::string line;
  for (const auto& [name, value] : variables) line += name + "=" + quoted_word(value) + " ";
  for (const std::string& word : words) line += quoted_word(word) + (&word == &words.back() ? "" : " ");
  return line;
}

std::string environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace anyplace::tool
