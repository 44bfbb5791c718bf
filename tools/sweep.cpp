// SPDX-License-Identifier: Apache-2.0
#include "tools/sweep.h"

#include <anyplace/error.h>
#include <anyplace/layers.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "error_text.h"
#include "json.h"
#include "number.h"
#include "sweep_runs.h"
#include "terminal.h"
#include "text.h"

namespace anyplace::tool {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds longest_reference = std::chrono::minutes(10);

/// How a run ended. The last four are faults of the program, or of the library.
enum class Outcome { clean_error, unharmed, not_reached, wrong_result, leak, hang, crash };
constexpr std::array<std::pair<const char*, const char*>, 7> outcome_words{{
    {"clean error", "the program exited with an error, and everything was freed"},
    {"unharmed", "the program exited with 0, and its result is the right one"},
    {"not reached", "the run made fewer calls than that"},
    {"wrong result", "the program exited with 0, and its result differs"},
    {"leak", "objects of a backend were left that aren't left without a failure"},
    {"hang", "the run took longer than the limit"},
    {"crash", "a signal ended the program"},
}};
const char* word_of(Outcome outcome) { return outcome_words[static_cast<std::size_t>(outcome)].first; }
bool is_bad(Outcome outcome) { return outcome >= Outcome::wrong_result; }

struct Judged {
  SweepRun run;
  Outcome outcome;
  std::string detail;
};

/// What the program does without a failure, by two runs.
struct Reference {
  SweepRun run;
  std::string folder;              ///< that of the first run
  std::set<std::string> unsteady;  ///< files that differ between the two
  bool has_losses = false;         ///< the failures lose devices, whose memory and handles nobody gives back
};

/// A line for a shell that makes the run again.
std::string command_line(const SweepProgram& program, const std::string& rules) {
  return shell_line({{"ANYPLACE_LAYERS", program.layers}, {"ANYPLACE_FAULTS", rules}}, program.words);
}

/// ANYPLACE_LAYERS with `faults` in it.
std::string layers_with_faults() {
  const std::string layers = environment_variable("ANYPLACE_LAYERS");
  std::string_view rest = layers;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    if (item.substr(item.find('+') + 1) == "faults") return layers;
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
  }
  return layers.empty() ? "faults" : layers + ",faults";
}

/// The objects that a run left and the reference didn't; "" if there are none.
std::string leaked(const SweepRun& run, const Reference& reference) {
  std::vector<std::string> kinds;
  if (reference.has_losses) return "";
  for (const auto& [kind, count] : run.live) {
    const auto found = reference.run.live.find(kind);
    const std::uint64_t usual = found == reference.run.live.end() ? 0 : found->second;
    if (count > usual) kinds.push_back(std::to_string(count - usual) + " of " + kind);
  }
  return kinds.empty() ? "" : joined(kinds);
}

Judged judge(const SweepProgram& program, const Reference& reference, const SweepRun& run) {
  if (run.hung) return {run, Outcome::hang, "ended after " + std::to_string(run.took.count()) + " ms"};
  if (run.signal != 0) return {run, Outcome::crash, strsignal(run.signal)};
  if (run.is_reported && run.hits == 0) return {run, Outcome::not_reached, ""};
  if (const std::string left = leaked(run, reference); !left.empty()) return {run, Outcome::leak, left};
  if (run.status != 0) return {run, Outcome::clean_error, ""};
  std::vector<std::string> wrong;
  for (const std::string& name : differing_files(reference.folder, run_folder(program.folder, run.number))) {
    if (!reference.unsteady.contains(name)) wrong.push_back(name);
  }
  if (wrong.empty()) return {run, Outcome::unharmed, ""};
  return {run, Outcome::wrong_result, joined(wrong) + (wrong.size() == 1 ? " differs" : " differ")};
}

Answer refused(const std::string& what) { return {"", "anyplace: " + what + "\n", exit_failed}; }

/// What to say of arguments that name files by relative paths, which no run finds in its own folder; "" if none does.
std::string relative_paths(const std::vector<std::string>& words) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool is_there = !words[i].empty() && words[i].front() != '/' && std::filesystem::exists(words[i], ignored);
    if (is_there) found.push_back(printable(words[i]));
  }
  if (found.empty()) return "";
  return "; each run has a current folder of its own, so " + joined(found) +
         (found.size() == 1 ? " needs an absolute path" : " need absolute paths");
}

/// What keeps a program from being swept; "" if nothing does.
std::string reference_problem(const SweepProgram& program, const SweepRun& run) {
  const std::string where = "; " + run_folder(program.folder, run.number) + " has what it wrote";
  if (run.hung) return "the program doesn't end by itself in " + std::to_string(run.took.count() / 1000) + " s" + where;
  if (run.signal != 0) return std::string("the program crashes without a failure: ") + strsignal(run.signal) + where;
  if (run.status != 0) {
    return "the program fails without a failed call, with exit status " + std::to_string(run.status) +
           relative_paths(program.words) + where;
  }
  if (!run.is_reported) return "the program made no call to a backend that has the layer faults" + where;
  return "";
}

std::string number_text(std::uint64_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string report_text(const SweepProgram& program, const std::vector<Judged>& all, std::uint64_t calls,
                        double seconds) {
  std::array<std::uint64_t, outcome_words.size()> counts{};
  for (const Judged& one : all) ++counts[static_cast<std::size_t>(one.outcome)];
  std::string text = number_text(calls, "call") + ", " + number_text(all.size(), "run") + " with a failure, " +
                     std::to_string(static_cast<std::uint64_t>(seconds)) + " s\n";
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) rows.push_back({std::to_string(counts[i]), outcome_words[i].first, outcome_words[i].second});
  }
  text += table(rows);
  for (const Judged& one : all) {
    if (!is_bad(one.outcome)) continue;
    text += "\n" + painted(Paint::bad, word_of(one.outcome)) + " at call " + std::to_string(one.run.number) +
            (one.run.hit.empty() ? "" : " (" + one.run.hit + ")") + ": " + printable(one.detail) + "\n";
    text += field("again", command_line(program, one.run.rules));
    text += field("output", run_folder(program.folder, one.run.number));
  }
  return text;
}

Json report_json(const SweepProgram& program, const std::vector<Judged>& all, std::uint64_t calls, double seconds) {
  Json runs = Json::array();
  for (const Judged& one : all) {
    runs.push_back(Json{{"call", one.run.number},
                        {"outcome", word_of(one.outcome)},
                        {"entry", text_or_null(one.run.hit)},
                        {"exit_status", one.run.status < 0 ? Json() : Json(one.run.status)},
                        {"signal", one.run.signal == 0 ? Json() : Json(one.run.signal)},
                        {"detail", text_or_null(one.detail)},
                        {"again", command_line(program, one.run.rules)},
                        {"output", is_bad(one.outcome) ? Json(run_folder(program.folder, one.run.number)) : Json()}});
  }
  return Json{{"calls", calls}, {"seconds", seconds}, {"runs", std::move(runs)}};
}

/// The first `count` multiples of a number, one at each call, and then 0.
class Numbers {
 public:
  Numbers(std::uint64_t first, std::uint64_t step, std::uint64_t last) : next_(first), step_(step), last_(last) {}
  std::uint64_t operator()() {
    if (next_ > last_) return 0;
    const std::uint64_t number = next_;
    next_ += step_;
    return number;
  }

 private:
  std::uint64_t next_, step_, last_;
};

}  // namespace

SweepCommand::SweepCommand(CLI::App& app)
    : command_(
          app.add_subcommand("sweep", "Runs a program once for each of its calls, which fails, and sorts the ends")) {
  command_->add_option("PROGRAM", words_, "The program and its arguments, after --")->required();
  command_->add_option("--status", status_, "What the calls fail with (default backend_failed)");
  command_->add_option("--entry", entry_,
                       "Which calls fail: an entry of a backend's, with * for any characters (default *)");
  command_->add_option("--every", every_, "Fail every so manieth call only (default 1)")
      ->check(whole_number(1, 1'000'000'000'000));
  command_->add_option("--jobs", jobs_, "How many runs at once (default: as many as there are processors)")
      ->check(whole_number(1, 4096));
  command_
      ->add_option("--timeout", timeout_,
                   "Seconds after which a run hangs (default: 20 times the program's own, at least 60)")
      ->check(whole_number(1, 1'000'000));
  command_->add_flag("--json", json_, "Write JSON");
}

bool SweepCommand::chosen() const { return command_->parsed(); }

Answer SweepCommand::run() const {
  if (!environment_variable("ANYPLACE_FAULTS").empty()) {
    return {"", "anyplace: ANYPLACE_FAULTS is set; the sweep sets it itself for each run\n", exit_usage};
  }
  const std::string what = entry_ + "=" + status_;
  try {
    layer_command("faults", "add", what + " nth=1");  // in this process, which uses no backend
  } catch (const Error& error) {
    return {"", error_text("anyplace", error), exit_usage};
  }
  const auto begin = std::chrono::steady_clock::now();
  SweepProgram program{words_, layers_with_faults(), make_runs_folder("sweep")};
  program.words.front() = absolute_program(words_.front());
  const unsigned jobs = jobs_ != 0 ? jobs_ : std::max(1u, std::thread::hardware_concurrency());
  const milliseconds given = std::chrono::seconds(timeout_);

  // Runs 1 and 2 of this folder are the program as it is; only then it is known how many calls there are.
  SweepProgram references = program;
  references.folder += "/reference";
  std::vector<SweepRun> plain;
  make_runs(
      references, Numbers(1, 1, 2), [&](std::uint64_t) { return what + " probability=0"; }, 1,
      timeout_ != 0 ? given : longest_reference, [&](const SweepRun& run) { plain.push_back(run); });
  for (const SweepRun& run : plain) {
    if (const std::string problem = reference_problem(references, run); !problem.empty()) return refused(problem);
  }
  const std::string first = run_folder(references.folder, 1);
  const Reference reference{plain.front(), first, differing_files(first, run_folder(references.folder, 2)),
                            status_ == "device_lost"};
  const std::uint64_t calls = std::max(plain[0].uses, plain[1].uses);
  const milliseconds limit = timeout_ != 0 ? given : limit_of_runs(std::max(plain[0].took, plain[1].took));

  std::vector<Judged> all;
  make_runs(
      program, Numbers(1, every_, calls), [&](std::uint64_t nth) { return what + " nth=" + std::to_string(nth); }, jobs,
      limit,
      [&](const SweepRun& run) {
        all.push_back(judge(program, reference, run));
        if (!is_bad(all.back().outcome)) std::filesystem::remove_all(run_folder(program.folder, run.number));
      });
  std::sort(all.begin(), all.end(), [](const Judged& a, const Judged& b) { return a.run.number < b.run.number; });
  const bool is_good = std::none_of(all.begin(), all.end(), [](const Judged& one) { return is_bad(one.outcome); });
  if (is_good) std::filesystem::remove_all(program.folder);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {json_ ? dump(report_json(program, all, calls, seconds)) : report_text(program, all, calls, seconds), "",
          is_good ? exit_ok : exit_failed};
}

}  // namespace anyplace::tool
