// SPDX-License-Identifier: Apache-2.0
#include "child.h"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <stdexcept>

#include "executor.h"
#include "support/process.h"

namespace stress {
namespace {

/// Output that grows without end is cut.
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

test::Ended in_child(const std::function<void()>& body, std::chrono::seconds limit) {
  test::Process child([&] {
    ::signal(SIGUSR1, [](int) { tell_progress(); });
    try {
      body();
    } catch (const std::exception& exception) {
      found("error", exception.what());
    }
    std::exit(0);
  });
  test::Ended ended = child.end(limit, SIGUSR1);
  if (ended.out.size() > most_text) ended.out.resize(most_text);
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
bool said_late_exit(test::Ended& ended) {
  const std::size_t at = ended.out.find(late_exit_line);
  if (at == std::string::npos) return false;
  ended.out.erase(at, late_exit_line.size());
  return true;
}

Outcome outcome_of(const test::Ended& ended) {
  Outcome outcome{{}, ended.out};
  if (ended.hung) {
    outcome.finding = "hang";
  } else if (ended.signal != 0) {
    outcome.finding = "signal " + std::to_string(ended.signal);
  } else if (ended.status == found_status) {
    outcome.finding = said_finding(ended.out);
  } else if (ended.status != 0) {
    outcome.finding = "status " + std::to_string(ended.status);
  } else if (!ended.out.empty()) {
    outcome.finding = "output";
  }
  return outcome;
}

}  // namespace

std::string backend_of(const std::string& place) { return place.substr(0, place.find(':')); }

std::vector<Traits> ask_in_child(const std::vector<std::string>& places, const Bed& bed) {
  const test::Ended ended = in_child(
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
  std::istringstream words(ended.out);
  for (Traits traits; words >> traits.backend >> traits.blocking_streams >> traits.managed >> traits.pinned >>
                      traits.host_register >> traits.host_functions >> traits.timed_events >> traits.modules >>
                      traits.host_kernels >> traits.least_priority >> traits.greatest_priority >> traits.memory;) {
    all.push_back(traits);
  }
  if (ended.hung || ended.status != 0 || all.size() != places.size()) throw std::runtime_error(ended.out);
  return all;
}

Outcome run_in_child(const Plan& plan, const std::vector<Traits>& traits, const Bed& bed) {
  for (const std::string& backend : backends_of(plan.round.places)) ::unlink(report_of(bed, backend).c_str());
  test::Ended ended = in_child(
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
