// SPDX-License-Identifier: Apache-2.0
#include "run_command.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
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
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("ANYPLACE_")) entries.emplace_back(*entry);
  }
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

}  // namespace

Run run_command(const std::vector<std::string>& arguments, const Variables& variables, Output output) {
  const Capture out;
  const Capture err;
  const int pipe_end = output == Output::broken_pipe ? broken_pipe() : -1;
  std::vector<std::string> words{ANYPLACE_COMMAND};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> entries = environment_with(variables);

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
  pid_t process = 0;
  const int failed =
      posix_spawn(&process, ANYPLACE_COMMAND, &actions, nullptr, pointers(words).data(), pointers(entries).data());
  posix_spawn_file_actions_destroy(&actions);
  if (pipe_end >= 0) close(pipe_end);
  if (failed != 0) throw std::runtime_error("the command can't be started: " ANYPLACE_COMMAND);

  int status = 0;
  waitpid(process, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out.text(), err.text()};
}

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
