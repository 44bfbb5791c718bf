// SPDX-License-Identifier: Apache-2.0
#include "child.h"

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <stdexcept>

#include "executor.h"

namespace stress {
namespace {

constexpr std::size_t most_text = 1 << 20;

/// The double of a backend's library, with the prefix of its variables; empty where it isn't built or needed.
struct Double {
  std::string library;
  std::string prefix;
};

Double double_of(const std::string& backend) {
  if (backend == "cuda") return {STRESS_CUDA_DOUBLE, "CUDA_DOUBLE"};
  if (backend == "hip") return {STRESS_HIP_DOUBLE, "HIP_DOUBLE"};
  if (backend == "levelzero") return {STRESS_LEVELZERO_DOUBLE, "LEVELZERO_DOUBLE"};
  return {};
}

std::set<std::string> backends_of(const std::vector<std::string>& places) {
  std::set<std::string> backends;
  for (const std::string& place : places) backends.insert(backend_of(place));
  return backends;
}

std::string report_of(const Bed& bed, const std::string& backend) { return bed.folder + "/" + backend + ".report"; }

/// What is loaded already is what the backends find when they look for the vendor's library.
void load_doubles(const std::vector<std::string>& places, const Bed& bed) {
  if (backends_of(places).count("least_aligned") != 0) ::setenv("ANYPLACE_BACKEND_PATH", STRESS_PLUGINS, 1);
  if (!bed.doubles) return;
  ::setenv("HIP_DOUBLE_ARCH", "gfx000", 1);
  ::setenv("LEVELZERO_DOUBLE_SPIRV", "255.0", 1);
  for (const std::string& backend : backends_of(places)) {
    const Double of = double_of(backend);
    if (of.prefix.empty()) continue;
    if (of.library.empty()) throw std::runtime_error("the double for " + backend + " is not built");
    ::setenv((of.prefix + "_REPORT").c_str(), report_of(bed, backend).c_str(), 1);
    if (::dlopen(of.library.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) throw std::runtime_error(::dlerror());
  }
}

/// Output that grows without end is cut.
void append(std::string& text, const char* bytes, std::size_t count) {
  if (text.size() < most_text) text.append(bytes, count);
}

struct Ended {
  bool timed_out = false;
  int status = 0;  ///< as waitpid gives it
  std::string output;
};

/// Reads until nobody can write any more, or the time is over.
void read_all(int from, std::chrono::steady_clock::time_point deadline, Ended& ended) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd readable{from, POLLIN, 0};
    if (left <= 0 || ::poll(&readable, 1, static_cast<int>(left)) == 0) {
      ended.timed_out = true;
      return;
    }
    char bytes[4096];
    const ssize_t count = ::read(from, bytes, sizeof(bytes));
    if (count <= 0) return;
    append(ended.output, bytes, static_cast<std::size_t>(count));
  }
}

Ended in_child(const std::function<void()>& body, std::chrono::seconds limit) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("pipe failed");
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    ::dup2(ends[1], 1);
    ::dup2(ends[1], 2);
    ::close(ends[0]);
    ::close(ends[1]);
    ::signal(SIGUSR1, [](int) { tell_progress(); });
    try {
      body();
    } catch (const std::exception& exception) {
      found("error", exception.what());
    }
    std::exit(0);
  }
  ::close(ends[1]);
  Ended ended;
  read_all(ends[0], std::chrono::steady_clock::now() + limit, ended);
  if (ended.timed_out) {
    ::kill(child, SIGUSR1);
    Ended last;
    read_all(ends[0], std::chrono::steady_clock::now() + std::chrono::seconds(1), last);
    ended.output += last.output;
    ::kill(child, SIGKILL);
  }
  ::close(ends[0]);
  ::waitpid(child, &ended.status, 0);
  return ended;
}

/// The kind of what found() said.
std::string said_finding(const std::string& output) {
  const std::size_t at = output.find("FINDING ");
  if (at == std::string::npos) return {};
  return output.substr(at + 8, output.find(':', at) - at - 8);
}

void read_reports(const Plan& plan, const Bed& bed, bool late_exit, Outcome& outcome) {
  for (const std::string& backend : backends_of(plan.round.places)) {
    if (double_of(backend).prefix.empty()) continue;
    std::ifstream lines(report_of(bed, backend));
    if (!lines) outcome = {"misuse", outcome.text + "the double for " + backend + " left no report\n"};
    for (std::string line; std::getline(lines, line);) {
      const bool live = line.starts_with("live ");
      if (!live && !line.starts_with("misuse ")) continue;
      // What is left at exit may be found by the vendor's own end.
      const bool may_be_left = late_exit || plan.round.ending == Ending::abrupt;
      if (may_be_left && (live || line.ends_with("destroyed that still has objects"))) continue;
      if (outcome.finding.empty()) outcome.finding = live ? "live" : "misuse";
      outcome.text += backend + ": " + line + "\n";
    }
  }
}

/// Takes that line out of what was said.
bool said_late_exit(Ended& ended) {
  const std::size_t at = ended.output.find(late_exit_line);
  if (at == std::string::npos) return false;
  ended.output.erase(at, late_exit_line.size());
  return true;
}

Outcome outcome_of(const Ended& ended) {
  Outcome outcome{{}, ended.output};
  if (ended.timed_out) {
    outcome.finding = "hang";
  } else if (WIFSIGNALED(ended.status)) {
    outcome.finding = "signal " + std::to_string(WTERMSIG(ended.status));
  } else if (WEXITSTATUS(ended.status) == found_status) {
    outcome.finding = said_finding(ended.output);
  } else if (WEXITSTATUS(ended.status) != 0) {
    outcome.finding = "status " + std::to_string(WEXITSTATUS(ended.status));
  } else if (!ended.output.empty()) {
    outcome.finding = "output";
  }
  return outcome;
}

}  // namespace

std::string backend_of(const std::string& place) { return place.substr(0, place.find(':')); }

std::vector<Traits> ask_in_child(const std::vector<std::string>& places, const Bed& bed) {
  const Ended ended = in_child(
      [&] {
        load_doubles(places, bed);
        for (const Traits& traits : ask_traits(places)) {
          std::printf("%s %d %d %d %d %d %d %d %d %d %d %llu\n", traits.backend.c_str(), traits.blocking_streams,
                      traits.managed, traits.pinned, traits.host_register, traits.host_functions, traits.timed_events,
                      traits.modules, traits.host_kernels, traits.least_priority, traits.greatest_priority,
                      static_cast<unsigned long long>(traits.memory));
        }
      },
      bed.limit);
  std::vector<Traits> all;
  std::istringstream words(ended.output);
  for (Traits traits; words >> traits.backend >> traits.blocking_streams >> traits.managed >> traits.pinned >>
                      traits.host_register >> traits.host_functions >> traits.timed_events >> traits.modules >>
                      traits.host_kernels >> traits.least_priority >> traits.greatest_priority >> traits.memory;) {
    all.push_back(traits);
  }
  if (ended.timed_out || ended.status != 0 || all.size() != places.size()) throw std::runtime_error(ended.output);
  return all;
}

Outcome run_in_child(const Plan& plan, const std::vector<Traits>& traits, const Bed& bed) {
  for (const std::string& backend : backends_of(plan.round.places)) ::unlink(report_of(bed, backend).c_str());
  Ended ended = in_child(
      [&] {
        for (const auto& [name, value] : plan.round.settings) ::setenv(name.c_str(), value.c_str(), 1);
        load_doubles(plan.round.places, bed);
        execute(plan, traits);
      },
      bed.limit);
  bool late_exit = false;
  while (said_late_exit(ended)) late_exit = true;
  Outcome outcome = outcome_of(ended);
  if (outcome.finding.empty() && bed.doubles) read_reports(plan, bed, late_exit, outcome);
  return outcome;
}

}  // namespace stress
