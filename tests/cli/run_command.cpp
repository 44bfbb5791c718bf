// SPDX-License-Identifier: Apache-2.0
#include "run_command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>

namespace anyplace::test {
namespace {

using ::test::Process;
using ::test::Streams;

/// An unnamed file: unlike a pipe it takes any amount while nobody reads, and nobody who has it keeps the test waiting.
class Capture {
 public:
  explicit Capture(const std::string& text = "") : descriptor_(memfd_create("run_command", MFD_CLOEXEC)) {
    if (pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
      throw std::runtime_error("no temporary file");
    }
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

/// What a stream of the command is where nothing can be written.
int bad_end(Output output) {
  if (output == Output::closed) return Streams::closed;
  if (output == Output::full) return open("/dev/full", O_WRONLY | O_CLOEXEC);
  std::array<int, 2> ends{};  // a pipe that nobody reads
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  close(ends[0]);
  return ends[1];
}

Process start(const std::vector<std::string>& arguments, const Variables& variables, const Streams& streams) {
  std::vector<std::string> words{ANYPLACE_COMMAND};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Variables all = variables;
  all.insert({"ANYPLACE_PROBE_TIMEOUT", "120"});  // of a machine that is busy, unless the variables say otherwise
  if (const char* const trusted = std::getenv("ANYPLACE_TRUSTED_FOLDERS")) {  // where root runs another user's build
    all.insert({"ANYPLACE_TRUSTED_FOLDERS", trusted});
  }
  return Process(words, all, streams, {"ANYPLACE_", "NO_COLOR="});
}

Run run(const std::vector<std::string>& arguments, const Variables& variables, int in, Output output = Output::kept) {
  const Capture out, err;
  const int end = output == Output::kept ? out.descriptor() : bad_end(output);
  Run done{start(arguments, variables, {in, end, err.descriptor()}).end()};
  if (output != Output::kept && end >= 0) close(end);
  done.out = out.text();
  done.err = err.text();
  return done;
}

void set_columns(int terminal, unsigned columns) {
  winsize size{};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(columns);
  if (ioctl(terminal, TIOCSWINSZ, &size) != 0) throw std::runtime_error("no terminal");
}

void take(const Step& step, const Process& process) {
  if (step.columns != 0) {
    set_columns(process.in(), step.columns);
    kill(process.pid(), SIGWINCH);  // the kernel tells a session of the terminal's own; the command is in the test's
  }
  if (!step.keys.empty() && write(process.in(), step.keys.data(), step.keys.size()) < 0) return;
  if (step.signal != 0) kill(process.pid(), step.signal);
}

}  // namespace

Run run_command(const std::vector<std::string>& arguments, const Variables& variables, Output output) {
  return run(arguments, variables, Streams::own, output);
}

Run run_program(const char* command, const std::vector<std::string>& options, const std::vector<std::string>& program,
                const std::string& folder, Variables variables) {
  std::vector<std::string> words{command};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("--");
  words.insert(words.end(), program.begin(), program.end());
  variables["TMPDIR"] = folder;
  return run_command(words, variables);
}

Run run_with_input(const std::string& input, const std::vector<std::string>& arguments, const Variables& variables) {
  return run(arguments, variables, Capture(input).descriptor());
}

Run run_on_terminal(const std::vector<std::string>& arguments, const Variables& variables, unsigned columns) {
  return run_on_terminal(arguments, variables, columns, {});
}

Run run_on_terminal(const std::vector<std::string>& arguments, const Variables& variables, unsigned columns,
                    const std::vector<Step>& steps) {
  Variables all = variables;
  all.insert({"TERM", "xterm-256color"});
  Process process = start(arguments, all, {Streams::terminal, Streams::terminal, Streams::terminal, columns});
  std::size_t looked = 0;  // where the next step's text is looked for
  for (auto next = steps.begin(); process.read(::test::longest);) {
    const std::size_t found = next == steps.end() ? std::string::npos : process.said().find(next->after, looked);
    if (found == std::string::npos) continue;
    looked = found + next->after.size();
    take(*next++, process);
  }
  Run done{process.end()};
  std::string& shown = done.out;
  for (std::size_t at = shown.find("\r\n"); at != std::string::npos; at = shown.find("\r\n", at)) shown.erase(at, 1);
  return done;
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
