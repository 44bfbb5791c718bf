// SPDX-License-Identifier: Apache-2.0
#include "run_program.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <pty.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace example_test {
namespace {

struct Ends {
  int read = -1;
  int write = -1;
};

Ends make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  return {ends[0], ends[1]};
}

Ends make_terminal() {
  Ends ends;
  if (openpty(&ends.read, &ends.write, nullptr, nullptr, nullptr) != 0) throw std::runtime_error("no terminal");
  return ends;
}

/// Until the other side is closed. A terminal says that with an error.
void drain(int from, std::string& to) {
  std::array<char, 4096> chunk{};
  for (ssize_t got = 0; (got = read(from, chunk.data(), chunk.size())) > 0;) {
    to.append(chunk.data(), static_cast<std::size_t>(got));
  }
  close(from);
}

std::vector<std::string> environment_with(const RunOptions& options) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::string_view(*entry).rfind("ANYPLACE_", 0) != 0) entries.emplace_back(*entry);
  }
  for (const auto& [name, value] : options.variables) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

bool has_terminals() {
  int master = -1, slave = -1;
  if (openpty(&master, &slave, nullptr, nullptr, nullptr) != 0) return false;
  close(master);
  close(slave);
  return true;
}

Run run_program(const std::vector<std::string>& arguments, const RunOptions& options) {
  std::vector<std::string> words{IMAGE_PIPELINE};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> entries = environment_with(options);
  const std::vector<char*> argument_list = pointers(words), environment_list = pointers(entries);

  const Ends out = make_pipe();
  const Ends err = options.terminal ? make_terminal() : make_pipe();
  const pid_t process = fork();
  if (process < 0) throw std::runtime_error("no process");
  if (process == 0) {
    dup2(out.write, STDOUT_FILENO);
    dup2(err.write, STDERR_FILENO);
    if (options.terminal) close(err.read);
    if (options.file_size_limit > 0) {
      const rlimit limit{static_cast<rlim_t>(options.file_size_limit), static_cast<rlim_t>(options.file_size_limit)};
      setrlimit(RLIMIT_FSIZE, &limit);
      signal(SIGXFSZ, SIG_IGN);  // writing then fails instead
    }
    // Fails for others than root, who need no such thing.
    if (options.obeys_permissions) prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0);
    execve(IMAGE_PIPELINE, argument_list.data(), environment_list.data());
    _exit(127);
  }
  close(out.write);
  close(err.write);
  Run run;
  // What is said on the first stays far below what a pipe holds, so that the two can be read one after the other.
  drain(err.read, run.err);
  drain(out.read, run.out);
  int status = 0;
  waitpid(process, &status, 0);
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return run;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace example_test
