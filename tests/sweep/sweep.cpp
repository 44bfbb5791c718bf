// SPDX-License-Identifier: Apache-2.0
//
// Fails each call that a backend makes to its vendor, at its 1st, 2nd, ... nth use, over a double of the vendor's
// library (tests/doubles), and looks at how the program ends that made it:
//
//   sweep --pipeline FILE --variables PREFIX --place P --other P --module FILE --failures CODE=WORD,...
//         [--silent E,...] [--every N]
//
// The first run fails nothing; the double's report says which entries it used and how often. Then each use of each
// entry gives a run with the next of the failure codes. Of every run is asked: it ends by itself, with status 0, in
// success or in an anyplace::Error that carries the vendor's code and has the code's own ErrorCode (WORD); nothing is
// alive in the double at the end, and nothing was misused on the way. A run may succeed only if the failure was
// reported to the error handler, or the entry is one of those that the backend can do without (--silent, each with a
// reason where it is listed). A turn (support/turn.h) makes every fourth of the runs with a failure.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "processes.h"
#include "support/turn.h"

namespace {

using Words = std::vector<std::string>;

struct Failure {
  long code;
  std::string word;
};

struct Options {
  std::string pipeline, variables, place, other, module;
  std::vector<Failure> failures;
  Words silent;
  unsigned every = 1;
  test::Turn turn = test::turn();
};

/// One failure to provoke.
struct Case {
  std::string entry;
  unsigned nth = 0;
  Failure failure;
};

Words split(const std::string& text, char separator) {
  Words words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, separator);) words.push_back(word);
  return words;
}

Options parse(int argc, char** argv) {
  Options options;
  std::map<std::string, std::string> given;
  for (int i = 1; i + 1 < argc; i += 2) given[argv[i]] = argv[i + 1];
  options.pipeline = given["--pipeline"], options.variables = given["--variables"];
  options.place = given["--place"], options.other = given["--other"], options.module = given["--module"];
  for (const std::string& failure : split(given["--failures"], ',')) {
    const Words parts = split(failure, '=');
    if (parts.size() != 2) throw std::runtime_error("--failures takes CODE=WORD,...");
    options.failures.push_back({std::stol(parts[0]), parts[1]});
  }
  options.silent = split(given["--silent"], ',');
  if (given.count("--every") != 0) options.every = static_cast<unsigned>(std::stoul(given["--every"]));
  if (options.pipeline.empty() || options.failures.empty() || options.every == 0) {
    throw std::runtime_error("usage: see the head of sweep.cpp");
  }
  return options;
}

// ---- One run -------------------------------------------------------------------------------------------------------

struct Run : sweep::Child {
  using sweep::Child::Child;
  std::string report;
  Case what;
  std::map<std::string, unsigned> calls;  ///< of each entry
  unsigned failures = 0;                  ///< that were made to happen; none if it went another way than the first run
  Words live;                             ///< what the double still had at the end
  Words misuse;
};

/// The order that a lost device was to keep is lost with it: lost_order.supp.
std::string options_for_lost_order() {
  const char* const before = std::getenv("TSAN_OPTIONS");
  return std::string(before != nullptr ? before : "") + " suppressions='" ANYPLACE_LOST_ORDER "'";
}

Run start(const Options& options, const Case& what, const std::string& report) {
  test::Variables variables{{options.variables + "_REPORT", report}};
  if (what.nth != 0) {
    variables[options.variables + "_FAIL"] =
        what.entry + ":" + std::to_string(what.nth) + ":" + std::to_string(what.failure.code);
  }
  if (what.failure.word == "device_lost") variables["TSAN_OPTIONS"] = options_for_lost_order();
  const Words words{options.pipeline, options.place, options.other, options.module};
  Run run(test::Process(words, variables));
  run.report = report;
  run.what = what;
  return run;
}

void read_report(Run& run) {
  std::ifstream report(run.report);
  for (std::string line; std::getline(report, line);) {
    std::istringstream words(line);
    std::string kind, name;
    unsigned number = 0;
    words >> kind >> name >> number;
    if (kind == "call") run.calls[name] = number;
    if (kind == "failures") run.failures = static_cast<unsigned>(std::stoul(name));
    if (kind == "live") run.live.push_back(line.substr(5));
    if (kind == "misuse") run.misuse.push_back(line.substr(7));
  }
  report.close();
  unlink(run.report.c_str());
}

// ---- What to think of it -------------------------------------------------------------------------------------------

struct Ending {
  std::string outcome;  ///< success, error or wrong
  std::string word;
  long vendor_code = 0;
  std::vector<std::pair<std::string, long>> reported;
};

Ending ending_of(const std::string& output) {
  Ending ending;
  for (const std::string& line : split(output, '\n')) {
    std::istringstream words(line);
    std::string first, word;
    long code = 0;
    words >> first;
    if (first == "reported" && words >> word >> code) ending.reported.emplace_back(word, code);
    if (first == "outcome" && words >> ending.outcome && ending.outcome == "error") {
      words >> ending.word >> ending.vendor_code;
    }
  }
  return ending;
}

bool is_silent(const Options& options, const std::string& entry) {
  return std::find(options.silent.begin(), options.silent.end(), entry) != options.silent.end();
}

/// Empty if all is well.
std::string verdict(const Options& options, const Run& run) {
  const Case& what = run.what;
  if (run.ended.hung) return "it hung";
  if (run.ended.status != 0) return "it ended with status " + std::to_string(run.ended.status);
  const Ending ending = ending_of(run.ended.out);
  if (!run.live.empty()) return "left alive: " + run.live.front();
  if (!run.misuse.empty()) return "misuse: " + run.misuse.front();
  if (ending.outcome != "success" && ending.outcome != "error") return "the outcome is '" + ending.outcome + "'";
  if (what.nth == 0) return ending.outcome == "success" ? "" : "it failed without a failure";
  const auto is_it = [&](const std::string& word, long code) {
    // A stream of the other device that waited for the lost one fails, too, but its device isn't lost.
    const bool by_other = what.failure.word == "device_lost" && word == "backend_failed";
    return code == what.failure.code && (word == what.failure.word || by_other);
  };
  if (ending.outcome == "error") {
    // Before there is a device there is only a plugin that was refused; the reason is in the text.
    const bool refused = ending.word == "no_such_backend" || ending.word == "no_such_device";
    if (is_it(ending.word, ending.vendor_code) || refused) return "";
    // The loss of a device that has a part in another's call is no loss of that one.
    const bool of_a_peer = what.failure.word == "device_lost" && ending.word == "backend_failed" &&
                           run.ended.out.find("has a part in this") != std::string::npos;
    if (of_a_peer) return "";
    return "the Error is " + ending.word + " with vendor code " + std::to_string(ending.vendor_code);
  }
  if (run.failures == 0) return "";
  const bool reported = std::any_of(ending.reported.begin(), ending.reported.end(),
                                    [&](const auto& error) { return is_it(error.first, error.second); });
  return reported || is_silent(options, what.entry) ? "" : "it succeeded, and nobody was told";
}

std::string describe(const Case& what) {
  if (what.nth == 0) return "without a failure";
  return what.entry + ", use " + std::to_string(what.nth) + ", gives " + std::to_string(what.failure.code);
}

// ---- All of them ---------------------------------------------------------------------------------------------------

struct Tally {
  unsigned runs = 0, succeeded = 0, failed_well = 0, wrong = 0;
};

void judge(const Options& options, Run& run, Tally& tally) {
  read_report(run);
  ++tally.runs;
  const std::string problem = verdict(options, run);
  if (problem.empty()) {
    ++(ending_of(run.ended.out).outcome == "success" ? tally.succeeded : tally.failed_well);
    return;
  }
  ++tally.wrong;
  std::printf("WRONG %s: %s\n", describe(run.what).c_str(), problem.c_str());
  if (tally.wrong <= 5) std::printf("%s\n", run.ended.out.c_str());
  std::fflush(stdout);
}

/// Those of this turn. Which they are doesn't rest on how often other entries were used, which differs from run to run:
/// what all turns make together is what is made without turns.
std::vector<Case> cases_of(const Options& options, const std::map<std::string, unsigned>& calls) {
  std::vector<Case> cases;
  std::size_t all = 0;
  for (const auto& [entry, uses] : calls) {
    // Entries begin at different codes and in different turns.
    std::size_t number = std::accumulate(entry.begin(), entry.end(), std::size_t{0});
    for (unsigned nth = 1; nth <= uses; ++nth) {
      // The first use of each entry with every code, the others with one in turn.
      const std::size_t codes = nth == 1 ? options.failures.size() : 1;
      for (std::size_t i = 0; i < codes; ++i, ++number) {
        if (number % options.every != 0) continue;
        ++all;
        if (!options.turn.takes(number / options.every)) continue;
        cases.push_back({entry, nth, options.failures[number % options.failures.size()]});
      }
    }
  }
  std::printf("%s: %zu of %zu failures\n", options.turn.text().c_str(), cases.size(), all);
  return cases;
}

void run_all(const Options& options, const std::vector<Case>& cases, const std::string& folder, Tally& tally) {
  std::size_t next = 0;
  const auto start_next = [&] {
    const std::size_t number = next++;
    return start(options, cases[number], folder + "/report" + std::to_string(number));
  };
  sweep::run_all<Run>(
      SIGKILL, [&] { return next < cases.size(); }, start_next, [&](Run& run) { judge(options, run, tally); });
}

int sweep_all(const Options& options) {
  char folder[] = "/tmp/anyplace-sweep-XXXXXX";
  if (mkdtemp(folder) == nullptr) throw std::runtime_error("no folder for reports");
  Tally tally;
  Run plain = start(options, {}, std::string(folder) + "/report");
  while (!advance(plain, SIGKILL)) {
  }
  judge(options, plain, tally);
  if (tally.wrong == 0 && plain.calls.empty()) throw std::runtime_error("the double's report names no call");
  if (tally.wrong == 0) run_all(options, cases_of(options, plain.calls), folder, tally);
  rmdir(folder);
  std::printf("%zu entries, %u runs: %u succeeded, %u ended in the right Error, %u wrong\n", plain.calls.size(),
              tally.runs, tally.succeeded, tally.failed_well, tally.wrong);
  if (options.every > 1) std::printf("only every %uth of the uses was failed in this build\n", options.every);
  return tally.wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try { return sweep_all(parse(argc, argv)); } catch (const std::exception& exception) {
  std::fprintf(stderr, "sweep: %s\n", exception.what());
  return 2;
}
