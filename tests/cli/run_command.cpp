// SPDX-License-Identifier: Apache-2.0
#include "run_command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>
#include <string_view>

namespace anyplace::test {
namespace {

/// An unnamed file: unlike a pipe it takes any amount while nobody reads.
class Capture {
 public:
  Capture() {
    std::string name = std::filesystem::temp_directory_path() / "anyplace-cli-XXXXXX";
    descriptor_ = mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ < 0) throw std::runtime_error("no temporary file");
    unlink(name.c_str());
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() { close(descriptor_); }

  int descriptor() const noexcept { return descriptor_; }
  std::string text() const {
    std::string all;
    std::array<char, 65536> chunk;
    for (off_t at = 0;;) {
      const ssize_t got = pread(descriptor_, chunk.data(), chunk.size(), at);
      if (got <= 0) return all;
      all.append(chunk.data(), static_cast<std::size_t>(got));
      at += got;
    }
  }

 private:
  int descriptor_;
};

std::vector<std::string> environment_with(const Variables& variables) {
  std::vector<std::string> entries;
  const auto is_replaced = [&](std::string_view entry) {
    return std::any_of(variables.begin(), variables.end(),
                       [&](const auto& variable) { return entry.starts_with(variable.first + "="); });
  };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("ANYPLACE_") || text.starts_with("NO_COLOR=") || is_replaced(text)) continue;
    entries.emplace_back(text);
  }
  // Of a machine that is busy, unless the variables say otherwise.
  constexpr std::string_view probe = "ANYPLACE_PROBE_TIMEOUT";
  const auto is_probe = [&](const auto& variable) { return variable.first == probe; };
  if (std::none_of(variables.begin(), variables.end(), is_probe)) entries.push_back(std::string(probe) + "=120");
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// The write end of a pipe that nobody reads.
int broken_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  close(ends[0]);
  return ends[1];
}

/// Takes the actions away.
pid_t spawn(const std::vector<std::string>& arguments, const Variables& variables,
            posix_spawn_file_actions_t* actions) {
  std::vector<std::string> words{ANYPLACE_COMMAND};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> entries = environment_with(variables);
  pid_t process = 0;
  const int failed =
      posix_spawn(&process, ANYPLACE_COMMAND, actions, nullptr, pointers(words).data(), pointers(entries).data());
  posix_spawn_file_actions_destroy(actions);
  if (failed != 0) throw std::runtime_error("the command can't be started: " ANYPLACE_COMMAND);
  return process;
}

int wait_for(pid_t process) {
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int spawn_and_wait(const std::vector<std::string>& arguments, const Variables& variables,
                   posix_spawn_file_actions_t* actions) {
  return wait_for(spawn(arguments, variables, actions));
}

}  // namespace

Run run_command(const std::vector<std::string>& arguments, const Variables& variables, Output output) {
  const Capture out;
  const Capture err;
  const int pipe_end = output == Output::broken_pipe ? broken_pipe() : -1;

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  switch (output) {
    case Output::kept:
      posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
      break;
    case Output::full:
      posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/full", O_WRONLY, 0);
      break;
    case Output::closed:
      posix_spawn_file_actions_addclose(&actions, STDOUT_FILENO);
      break;
    case Output::broken_pipe:
      posix_spawn_file_actions_adddup2(&actions, pipe_end, STDOUT_FILENO);
      break;
  }
  posix_spawn_file_actions_adddup2(&actions, err.descriptor(), STDERR_FILENO);
  const int status = spawn_and_wait(arguments, variables, &actions);
  if (pipe_end >= 0) close(pipe_end);
  return {status, out.text(), err.text()};
}

Run run_with_input(const std::string& input, const std::vector<std::string>& arguments, const Variables& variables) {
  const Capture in, out, err;
  if (write(in.descriptor(), input.data(), input.size()) != static_cast<ssize_t>(input.size())) {
    throw std::runtime_error("the input can't be kept");
  }
  lseek(in.descriptor(), 0, SEEK_SET);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.descriptor(), STDERR_FILENO);
  const int status = spawn_and_wait(arguments, variables, &actions);
  return {status, out.text(), err.text()};
}

namespace {

void set_columns(int terminal, unsigned columns) {
  winsize size{};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(columns);
  if (ioctl(terminal, TIOCSWINSZ, &size) != 0) throw std::runtime_error("no terminal");
}

void take(const Step& step, int master, pid_t process) {
  if (step.columns != 0) {
    set_columns(master, step.columns);
    kill(process, SIGWINCH);  // the kernel tells a session of the terminal's own; the command is in the test's
  }
  if (!step.keys.empty() && write(master, step.keys.data(), step.keys.size()) < 0) return;
  if (step.signal != 0) kill(process, step.signal);
}

}  // namespace

Run run_on_terminal(const std::vector<std::string>& arguments, const Variables& variables, unsigned columns) {
  return run_on_terminal(arguments, variables, columns, {});
}

Run run_on_terminal(const std::vector<std::string>& arguments, const Variables& variables, unsigned columns,
                    const std::vector<Step>& steps) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  std::array<char, 128> name{};
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 || ptsname_r(master, name.data(), name.size()) != 0) {
    throw std::runtime_error("no terminal");
  }
  const int slave = open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave < 0) throw std::runtime_error("no terminal");
  set_columns(slave, columns);

  Variables all = variables;
  const auto is_term = [](const auto& variable) { return variable.first == "TERM"; };
  if (std::none_of(all.begin(), all.end(), is_term)) all.emplace_back("TERM", "xterm-256color");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_adddup2(&actions, slave, descriptor);
  }
  const pid_t process = spawn(arguments, all, &actions);
  close(slave);
  // Reading ends, with an error, when the last of the command's descriptors is closed.
  std::string shown;
  std::size_t looked = 0;  // where the next step's text is looked for
  auto next = steps.begin();
  std::array<char, 4096> chunk;
  for (;;) {
    const ssize_t got = read(master, chunk.data(), chunk.size());
    if (got <= 0 && !(got < 0 && errno == EINTR)) break;
    if (got > 0) shown.append(chunk.data(), static_cast<std::size_t>(got));
    const std::size_t found = next == steps.end() ? std::string::npos : shown.find(next->after, looked);
    if (found == std::string::npos) continue;
    looked = found + next->after.size();
    take(*next++, master, process);
  }
  close(master);
  const int status = wait_for(process);
  for (std::size_t at = shown.find("\r\n"); at != std::string::npos; at = shown.find("\r\n", at)) shown.erase(at, 1);
  return {status, shown, ""};
}

std::string without_colour(const std::string& text) {
  return std::regex_replace(text, std::regex("\x1b\\[[0-9;]*m"), "");
}

nlohmann::json Run::json() const { return nlohmann::json::parse(out); }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

int processes_with(const std::string& variable) {
  int found = 0;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (contains(text, variable)) ++found;
  }
  return found;
}

}  // namespace anyplace::test
