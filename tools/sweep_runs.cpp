// SPDX-License-Identifier: Apache-2.0
#include "sweep_runs.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <list>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

namespace anyplace::tool {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int not_started_status = 127;

struct RunningRun {
  pid_t pid = 0;
  Clock::time_point started;
  SweepRun run;
};

/// This process's environment, with the layer, its rules and its report.
std::vector<std::string> environment_of(const SweepProgram& program, const SweepRun& run) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const auto sets = [&](const char* name) { return text.starts_with(std::string(name) + "="); };
    if (!sets("ANYPLACE_LAYERS") && !sets("ANYPLACE_FAULTS") && !sets("ANYPLACE_FAULTS_REPORT")) {
      variables.push_back(text);
    }
  }
  variables.push_back("ANYPLACE_LAYERS=" + program.layers);
  variables.push_back("ANYPLACE_FAULTS=" + run.rules);
  variables.push_back("ANYPLACE_FAULTS_REPORT=" + run_folder(program, run.number) + "/report");
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The child's side: never returns.
[[noreturn]] void become(const std::string& folder, char* const* words, char* const* variables, pid_t parent) {
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
    close_range(STDERR_FILENO + 1, ~0U, 0);
    execvpe(words[0], words, variables);
    dprintf(STDERR_FILENO, "%s: %s\n", words[0], std::strerror(errno));
  }
  _exit(not_started_status);
}

RunningRun start(const SweepProgram& program, std::uint64_t number, const std::string& rules) {
  RunningRun started;
  started.run.number = number;
  started.run.rules = rules;
  const std::string folder = run_folder(program, number);
  fs::remove_all(folder);
  fs::create_directories(folder + "/files");
  std::vector<std::string> words = program.words, variables = environment_of(program, started.run);
  const std::vector<char*> word_pointers = pointers_to(words), variable_pointers = pointers_to(variables);
  const pid_t parent = getpid();
  started.started = Clock::now();
  started.pid = fork();
  if (started.pid < 0) throw std::runtime_error(std::string("can't start a process: ") + std::strerror(errno));
  if (started.pid == 0) become(folder, word_pointers.data(), variable_pointers.data(), parent);
  setpgid(started.pid, started.pid);  // both sides do it, since either may come first
  return started;
}

/// Adds what the processes of the run reported: each hit, and each backend of each process, in a line of JSON.
void read_report(const std::string& path, SweepRun& run) {
  std::ifstream report(path);
  for (std::string line; std::getline(report, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_discarded()) continue;
    if (json.contains("hit")) {
      if (run.hit.empty()) run.hit = json.at("hit");
      continue;
    }
    if (json.at("rules").empty()) continue;
    const auto& rule = json.at("rules").front();
    run.is_reported = true;
    run.uses = std::max(run.uses, rule.at("uses").get<std::uint64_t>());
    run.hits += rule.at("hits").get<std::uint64_t>();
    for (const auto& [kind, count] : json.at("live").items()) run.live[kind] += count.get<std::uint64_t>();
  }
}

/// Whether the run is over; then it is complete, and nothing of it is left behind.
bool is_over(const SweepProgram& program, RunningRun& running, std::chrono::milliseconds limit) {
  int status = 0;
  SweepRun& run = running.run;
  pid_t ended = waitpid(running.pid, &status, WNOHANG);
  if (ended == 0 && Clock::now() - running.started >= limit) {
    run.hung = true;
    kill(-running.pid, SIGKILL);
    do {
      ended = waitpid(running.pid, &status, 0);
    } while (ended < 0 && errno == EINTR);
  }
  if (ended == 0) return false;
  kill(-running.pid, SIGKILL);
  run.took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - running.started);
  if (WIFEXITED(status)) run.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status) && !run.hung) run.signal = WTERMSIG(status);
  read_report(run_folder(program, run.number) + "/report", run);
  return true;
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

std::string run_folder(const SweepProgram& program, std::uint64_t number) {
  return program.folder + "/" + std::to_string(number);
}

void make_runs(const SweepProgram& program, const std::function<std::uint64_t()>& next,
               const std::function<std::string(std::uint64_t)>& rules, unsigned jobs, std::chrono::milliseconds limit,
               const std::function<void(const SweepRun&)>& done) {
  std::list<RunningRun> running;
  std::uint64_t number = next();
  while (number != 0 || !running.empty()) {
    while (number != 0 && running.size() < jobs) {
      running.push_back(start(program, number, rules(number)));
      number = next();
    }
    bool has_ended = false;
    for (auto one = running.begin(); one != running.end();) {
      if (!is_over(program, *one, limit)) {
        ++one;
        continue;
      }
      has_ended = true;
      done(one->run);
      one = running.erase(one);
    }
    if (!has_ended) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::set<std::string> differing_files(const std::string& folder, const std::string& other) {
  std::set<std::string> names = file_names(folder);
  names.merge(file_names(other));
  std::erase_if(names, [&](const std::string& name) { return same_content(folder + "/" + name, other + "/" + name); });
  return names;
}

}  // namespace anyplace::tool
