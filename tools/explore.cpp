// SPDX-License-Identifier: Apache-2.0
#include "tools/explore.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "explore_pages.h"
#include "explore_report.h"
#include "explore_runs.h"
#include "explore_search.h"
#include "explore_shrink.h"
#include "interruption.h"
#include "number.h"
#include "progress.h"
#include "text.h"

namespace anyplace::tool {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds longest_plain = std::chrono::minutes(2);
constexpr std::uint64_t default_runs = 1000;
constexpr std::uint64_t most_shrink_runs = 500;  // for one failure
constexpr const char* plain_strategy = "eager";
constexpr std::array<const char*, 3> own_variables{"ANYPLACE_CPU_SIM_STRATEGY", "ANYPLACE_CPU_SIM_SEED",
                                                   "ANYPLACE_CPU_SIM_REPORT"};

struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

bool is_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number != 0;
}

/// What is wrong with the name of a strategy; "" if nothing is.
std::string strategy_problem(const std::string& strategy) {
  const std::string name = strategy.substr(0, strategy.find(':'));
  const std::string rest = name.size() < strategy.size() ? strategy.substr(name.size() + 1) : "";
  const bool has_rest = name.size() < strategy.size();
  const std::vector<std::string> known{"random", "pct", "urw", "surw", "round_robin", "lazy", "eager"};
  if (name == "pct") {
    const std::size_t colon = rest.find(':');
    const bool is_right = is_number(rest.substr(0, colon)) &&
                          (colon == std::string::npos || is_number(std::string_view(rest).substr(colon + 1)));
    return is_right ? ""
                    : "the strategy pct takes a depth of 1 or more, and the number of choices if that is known: pct:3, "
                      "pct:3:200";
  }
  if (name == "urw" || name == "surw") {
    return !has_rest || is_number(rest)
               ? ""
               : "the strategy " + name + " takes the number of calls of a thread, or nothing: " + name + ":20";
  }
  if (std::find(known.begin(), known.end(), strategy) != known.end()) return "";
  if (name == "choices") return "choices are no strategy to explore with; --replay REPORT runs them once more";
  const std::string meant = nearest(name, known);
  return "there is no strategy " + in_quotes(strategy) +
         (meant.empty() ? "; there are" : "; did you mean '" + meant + "'? There are") +
         " random, pct:D, urw, surw, round_robin, lazy and eager, and --exhaustive; see docs/explore.md";
}

/// Seconds of "90", "90s", "15m" or "2h"; 0 if it is none.
std::uint64_t seconds_of(std::string text) {
  std::uint64_t unit = 1;
  if (!text.empty() && text.find_first_of("smh", text.size() - 1) != std::string::npos) {
    unit = text.back() == 's' ? 1 : text.back() == 'm' ? 60 : 3600;
    text.pop_back();
  }
  if (!is_number(text) || text.size() > 6) return 0;
  return std::stoull(text) * unit;
}

std::string options_problem(const ExploreOptions& options, const CLI::App& command) {
  for (const char* const name : own_variables) {
    if (!environment_variable(name).empty()) {
      return std::string(name) + " is set; explore sets it itself for each run";
    }
  }
  if (const std::string mode = environment_variable("ANYPLACE_CPU_SIM_MODE");
      !mode.empty() && mode != "deterministic") {
    return "ANYPLACE_CPU_SIM_MODE is " + in_quotes(mode) + "; explore needs 'deterministic', and sets it itself";
  }
  if (command.count("--strategy") != 0 && options.exhaustive)
    return "--exhaustive tries all schedules, so there is no --strategy with it";
  if (options.no_reduction && !options.exhaustive) return "--no-reduction is for --exhaustive";
  for (const char* const option : {"--strategy", "--runs", "--exhaustive", "--time", "--jobs", "--seed",
                                   "--same-output", "--no-shrink", "--fail-fast", "--out"}) {
    if (!options.replay.empty() && command.count(option) != 0) {
      return "--replay takes the choices of its report, and no " + std::string(option);
    }
  }
  for (const auto& [option, text] :
       {std::pair("--time", &options.time), std::pair("--replay", &options.replay), std::pair("--out", &options.out)}) {
    if (command.count(option) != 0 && text->empty()) return std::string(option) + " is empty";
  }
  if (!options.time.empty() && seconds_of(options.time) == 0) {
    return "--time is " + in_quotes(options.time) + "; it takes a time as 90, 90s, 15m or 2h";
  }
  return strategy_problem(options.strategy);
}

/// Has this process's variables mean the same in a run, which has a folder of its own, and leave its output as it is.
void prepare_environment() {
  // The line with the hash would be taken for what a failure said.
  ::unsetenv("ANYPLACE_CPU_SIM_HASH");
  const std::string profile = environment_variable("ANYPLACE_CPU_SIM_PROFILE");
  if (profile.find('/') == std::string::npos && !profile.ends_with(".json")) return;  // it is a name
  ::setenv("ANYPLACE_CPU_SIM_PROFILE", fs::absolute(profile).lexically_normal().c_str(), 1);
}

/// The variables of this process that a run has, too, and that tell it what to do.
RunVariables inherited_variables() {
  RunVariables variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string name(text.substr(0, text.find('=')));
    if (name.starts_with("ANYPLACE_") && name != "ANYPLACE_CPU_SIM_MODE" && name.size() < text.size()) {
      variables.emplace_back(name, text.substr(name.size() + 1));
    }
  }
  std::sort(variables.begin(), variables.end());
  return variables;
}

class Exploring {
 public:
  explicit Exploring(const ExploreOptions& options)
      : options_(options),
        words_(options.words),
        base_(make_base(options.out)),
        limit_(std::chrono::seconds(options.timeout)) {
    words_.front() = absolute_program(words_.front());
  }

  Exploring(const Exploring&) = delete;  // it owns a folder
  Exploring& operator=(const Exploring&) = delete;
  ~Exploring() {
    std::error_code ignored;
    fs::remove_all(base_ + "/runs", ignored);
    if (!keeps_) fs::remove_all(base_, ignored);
  }

  Exploration run() {
    const auto begin = std::chrono::steady_clock::now();
    Exploration exploration;
    exploration.strategy = options_.exhaustive ? "exhaustive" : options_.strategy;
    exploration.first_seed = options_.seed;
    run_plain(exploration);
    if (exploration.search.failures.empty()) search(exploration);
    for (const FoundFailure& found : exploration.search.failures) {
      progress_.stage("shrinking a failure");
      exploration.failures.push_back(explain(found, exploration.failures.size() + 1));
    }
    exploration.total_runs = total_runs_;
    exploration.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    progress_.clear();
    exploration.interrupted = interrupted();
    keeps_ = !exploration.failures.empty();
    return exploration;
  }

  /// Takes the choices of a report once more. Returns where the run diverges from it; "" if it doesn't.
  std::string replay(RunFailure& failure) {
    const ScheduleReport recorded = read_schedule_report(options_.replay, ReportPart::all);
    if (!recorded.is_there) throw Refused(options_.replay + " is no report of a schedule, or can't be read");
    if (recorded.ranks > 1) {
      throw Refused(options_.replay + " is the report of one rank of " + std::to_string(recorded.ranks) +
                    "; a job is run again by its strategy and its seed, as the replay line has them");
    }
    Schedule schedule;
    schedule.seed = recorded.seed;
    for (const ScheduleChoice& choice : recorded.choices) schedule.choices.push_back(choice.taken);
    ScheduleRuns runs(program(1, options_.timeout != 0 ? limit_ : longest_plain));
    const ScheduleRun run = runs.run(schedule);
    require_used(run);
    failure = run.failure;
    // Their first lines name the strategies, which are two.
    std::string difference = first_difference(options_.replay, run.report_path(), 1);
    if (run.report.profile != recorded.profile) {
      const auto named = [](const std::string& name) { return name.empty() ? "none" : in_quotes(name); };
      difference = "the report's profile is " + named(recorded.profile) + ", and the run's is " +
                   named(run.report.profile) + " (ANYPLACE_CPU_SIM_PROFILE)" + (difference.empty() ? "" : "; ") +
                   difference;
    }
    if (!run.report.diverged.empty()) difference = run.report.diverged + "; " + difference;
    return difference;
  }

 private:
  static std::string make_base(const std::string& out) {
    if (out.empty()) return make_runs_folder("explore");
    std::error_code error;
    if (fs::exists(out, error) && !fs::is_empty(out, error)) {
      throw Refused("--out " + in_quotes(out) + " is there, and not an empty folder; name a new one");
    }
    fs::create_directories(out, error);
    if (error) throw Refused("can't make the folder " + in_quotes(out) + ": " + error.message());
    return fs::absolute(out).lexically_normal().string();
  }

  ExploredProgram program(unsigned jobs, milliseconds limit) const { return {words_, base_ + "/runs", jobs, limit}; }

  /// Refuses what can't be explored.
  void require_used(const ScheduleRun& run) const {
    if (run.interrupted) throw Refused("interrupted by " + signal_text(interrupted()) + " in the plain schedule's run");
    if (run.start_error != 0) {
      throw Refused("can't start " + in_quotes(options_.words.front()) + ": " + std::strerror(run.start_error));
    }
    if (run.report.is_there || run.hung) return;
    throw Refused("the program made no call to cpu_sim" +
                  (run.failure ? ", and ended with " + run.failure.message : std::string()) +
                  "; what is explored is cpu_sim's deterministic mode: see docs/explore.md");
  }

  /// Runs the plain schedule twice. What isn't the same then is none of a schedule's.
  void run_plain(Exploration& exploration) {
    progress_.stage("running the plain schedule");
    ScheduleRuns runs(program(1, options_.timeout != 0 ? limit_ : longest_plain));
    const ScheduleRun first = runs.run({plain_strategy, options_.seed, {}, {}});
    require_used(first);
    if (first.is_job() && options_.exhaustive) {
      throw Refused("the program is a job of " + std::to_string(first.report.ranks) +
                    " ranks, of which --exhaustive can't try all schedules; use a --strategy");
    }
    if (first.failure) {
      exploration.search.failures.push_back({first, 0, 1});
      fs::rename(first.folder, base_ + "/plain");
      exploration.search.failures.back().first.folder = base_ + "/plain";
      total_runs_ += runs.count();
      return;
    }
    const ScheduleRun second = runs.run({plain_strategy, options_.seed, {}, {}});
    require_used(second);
    exploration.difference = difference_of(first, second);
    good_ = base_ + "/plain";
    unsteady_ = differing_files(first.folder, second.folder);
    if (options_.same_output) exploration.not_compared = unsteady_;
    fs::rename(first.folder, good_);
    if (options_.timeout == 0) limit_ = limit_of_runs(std::max(first.took, second.took));
    submissions_ = first.report.submissions;
    choices_ = first.report.choice_count;
    total_runs_ += runs.count();
  }

  static std::string difference_of(const ScheduleRun& first, const ScheduleRun& second) {
    for (std::uint32_t rank = 0; rank < first.report.ranks; ++rank) {
      const std::string lines = first_difference(first.report_path(rank), second.report_path(rank), 0);
      if (!lines.empty()) return (first.is_job() ? "of rank " + std::to_string(rank) + ", " : "") + lines;
    }
    if (first.failure.is_same(second.failure)) return "";
    const auto ending = [](const ScheduleRun& run) { return run.failure ? run.failure.message : std::string("good"); };
    return "with the same schedule it was first " + ending(first) + ", and then " + ending(second);
  }

  /// Runs a random schedule twice, and for PCT one that is long: whether it is the same, and how much there is to
  /// choose.
  void run_random(Exploration& exploration) {
    ScheduleRuns runs(program(1, limit_));
    const ScheduleRun first = runs.run({"random", options_.seed, {}, {}}),
                      second = runs.run({"random", options_.seed, {}, {}});
    if (first.interrupted || second.interrupted) return;
    if (exploration.difference.empty()) exploration.difference = difference_of(first, second);
    choices_ = std::max(choices_, first.report.choice_count);  // it may fail early
    std::set<std::pair<std::int64_t, std::int64_t>> streams;
    std::set<std::int64_t> threads;
    for (const ScheduleChoice& choice : read_schedule_report(first.report_path(), ReportPart::all).choices) {
      for (const ScheduleOption& option : choice.options) {
        if (option.stream >= 0) streams.emplace(option.stream, option.branch);
        if (option.thread >= 0) threads.insert(option.thread);
      }
    }
    exploration.actors = streams.size() + threads.size();
    if (depth_of(options_.strategy) != 0) {
      // Where threads go on first, most operations are there to choose from.
      choices_ = std::max(choices_, runs.run({"lazy", options_.seed, {}, {}}).report.choice_count);
    }
    total_runs_ += runs.count();
  }

  /// The strategy with what it needs to know of the program.
  std::string strategy() const {
    const std::string& name = options_.strategy;
    const bool is_given = std::count(name.begin(), name.end(), ':') > (name.starts_with("pct") ? 1 : 0);
    if (name.starts_with("pct:") && !is_given && choices_ != 0) return name + ":" + std::to_string(choices_);
    if ((name == "urw" || name == "surw") && submissions_ != 0) return name + ":" + std::to_string(submissions_);
    return name;
  }

  /// Whether runs of two seeds may be two: what the layer `faults` makes fail may hang on the seed, too.
  bool seeds_differ() const {
    return is_sampling(options_.strategy) || !environment_variable("ANYPLACE_FAULTS").empty();
  }

  void search(Exploration& exploration) {
    const unsigned jobs = options_.jobs != 0 ? options_.jobs : std::max(1u, std::thread::hardware_concurrency());
    SearchLimits limits;
    limits.runs = options_.runs;
    limits.fail_fast = options_.fail_fast;
    if (!options_.time.empty()) {
      limits.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds_of(options_.time));
    }
    const auto show = [&](const SearchResult& result) {
      if (limits.runs != 0) progress_.at(result.runs, limits.runs);
      if (limits.runs == 0) progress_.count(result.runs, "runs");
    };
    if (options_.exhaustive) {
      progress_.stage("exploring all schedules");
      ScheduleRuns runs(program(jobs, limit_));
      if (options_.same_output) runs.compare_with(good_, unsteady_);
      exploration.search = enumerate_schedules(runs, options_.seed, !options_.no_reduction, limits, show);
      if (exploration.difference.empty()) exploration.difference = exploration.search.difference;
      total_runs_ += runs.count();
      return;
    }
    if (limits.runs == 0 && !limits.deadline) limits.runs = seeds_differ() ? default_runs : 1;
    run_random(exploration);
    exploration.strategy = strategy();
    progress_.stage("exploring");
    ScheduleRuns runs(program(jobs, limit_));
    if (options_.same_output) runs.compare_with(good_, unsteady_);
    exploration.search = sample_schedules(runs, exploration.strategy, options_.seed, limits, show);
    total_runs_ += runs.count();
  }

  /// Shrinks the failure, and keeps all that is to be kept of it.
  ExploredFailure explain(const FoundFailure& found, std::size_t number) {
    ExploredFailure failure{found, {}, found.run == 0, base_ + "/failure-" + std::to_string(number), "", ""};
    // Runs of a folder have numbers of their own, and the first ones of the failures are still there.
    ExploredProgram own = program(1, limit_.count() == 0 ? longest_plain : limit_);
    own.folder = base_ + "/runs/shrinking";
    ScheduleRuns runs(own);
    if (options_.same_output && !good_.empty()) runs.compare_with(good_, unsteady_);
    const bool is_job = found.first.is_job();
    const bool shrinks = !options_.no_shrink && found.first.failure.kind != "hang" && !is_job && interrupted() == 0;
    failure.shrunk = !shrinks ? unshrunk(found.first) : shrink_failure(runs, found.first, most_shrink_runs);
    failure.is_plain = is_job ? found.run == 0 : failure.shrunk.is_replayed && failure.shrunk.deviations.empty();
    total_runs_ += runs.count();
    fs::rename(failure.shrunk.folder, failure.folder);
    const std::string choices = failure.folder + "/choices";
    if (!is_job) std::ofstream(choices) << choices_text(failure.shrunk.schedule);
    RunVariables inherited = inherited_variables();
    const auto line = [&](const Schedule& schedule) {
      RunVariables variables = inherited;
      for (auto& variable : schedule_variables(schedule, choices)) variables.push_back(std::move(variable));
      return shell_line(variables, words_);
    };
    const bool has_seed = !options_.exhaustive && found.run != 0;
    if (has_seed) failure.by_seed = line(found.first.schedule);
    failure.replay =
        failure.shrunk.is_replayed || !has_seed ? line({"", found.first.schedule.seed, {}, {}}) : failure.by_seed;
    // The choices of one rank aren't a schedule of the job; its seed is.
    if (is_job) failure.replay = line(found.first.schedule);
    if (!options_.out.empty()) {
      write_schedule_pages(failure.folder, failure.folder + "/report", good_.empty() ? "" : good_ + "/report");
    }
    return failure;
  }

  /// A run without an end isn't shrunk: each try takes as long as a run may.
  static ShrunkFailure unshrunk(const ScheduleRun& run) {
    ShrunkFailure shrunk;
    shrunk.schedule.seed = run.schedule.seed;
    shrunk.schedule.choices = taken_choices(read_schedule_report(run.report_path(), ReportPart::all));
    shrunk.folder = run.folder;
    return shrunk;
  }

  const ExploreOptions& options_;
  std::vector<std::string> words_;
  std::string base_;
  milliseconds limit_;
  std::string good_;  ///< the folder of the plain run; "" if it isn't good
  std::set<std::string> unsteady_;
  std::uint64_t submissions_ = 0, choices_ = 0, total_runs_ = 0;
  bool keeps_ = false;  ///< failures have folders in the base
  Progress progress_;
};

Answer replay_answer(const ExploreOptions& options) {
  RunFailure failure;
  const std::string difference = Exploring(options).replay(failure);
  const std::string ended = failure && failure.kind != "diverged" ? failure.kind + ": " + failure.message : "good";
  if (options.json) {
    return {dump(Json{{"same", difference.empty()}, {"difference", text_or_null(difference)}, {"ended", ended}}), "",
            difference.empty() ? exit_ok : exit_failed};
  }
  if (difference.empty()) return {"the same schedule; " + printable(ended) + "\n", "", exit_ok};
  return {"",
          "anyplace: the program and the report diverge: " + printable(difference) +
              "\nthe report is of another program, of other arguments or variables, or of another library\n",
          exit_failed};
}

}  // namespace

ExploreCommand::ExploreCommand(CLI::App& app)
    : command_(app.add_subcommand("explore", "Runs a program under many schedules of cpu_sim, and shows which fail")) {
  ExploreOptions& o = options_;
  command_->add_option("PROGRAM", o.words, "The program and its arguments, after --")->required();
  command_->add_option("--strategy", o.strategy,
                       "What chooses: random, pct:D, urw, surw, round_robin, lazy or eager (default random)");
  command_
      ->add_option("--runs", o.runs,
                   "How many runs (default 1000, or 1 if there is nothing to draw; of --exhaustive: all)")
      ->check(whole_number(1, 1'000'000'000'000));
  command_->add_flag("--exhaustive", o.exhaustive, "Try all schedules, of a small program");
  command_->add_flag("--no-reduction", o.no_reduction, "Try those, too, that only exchange independent operations");
  command_->add_option("--time", o.time, "How long to go on: 90s, 15m, 2h");
  command_->add_option("--jobs", o.jobs, "How many runs at once (default: as many as there are processors)")
      ->check(whole_number(1, 4096));
  command_->add_option("--seed", o.seed, "The first run's seed; the next one has the next (default 0)")
      ->check(whole_number(0, UINT64_MAX));
  command_->add_flag("--same-output", o.same_output, "Another output than the plain schedule's is a failure");
  command_->add_flag("--no-shrink", o.no_shrink, "Show failures as they were found");
  command_->add_flag("--fail-fast", o.fail_fast, "End with the first failure");
  command_
      ->add_option("--timeout", o.timeout,
                   "Seconds after which a run has no end (default: 20 times the plain one's, at least 60)")
      ->check(whole_number(1, 1'000'000));
  command_->add_option("--out", o.out, "A new folder for what is kept of failures, with timelines of them");
  command_->add_option("--replay", o.replay,
                       "Take the choices of this report once more, and say whether it is the same run");
  command_->add_flag("--json", o.json, "Write JSON");
  command_->footer(
      "Exit status:\n"
      "  0  no run failed (of --replay: the run is the same)\n"
      "  1  a run failed, or the program can't be explored\n"
      "  2  the command line is wrong\n"
      "  128 + N  signal N (SIGINT is 2, SIGTERM 15) ended it early; what it found until then is reported");
}

bool ExploreCommand::chosen() const { return command_->parsed(); }

Answer ExploreCommand::run() const {
  if (const std::string problem = options_problem(options_, *command_); !problem.empty()) {
    return {"", "anyplace: " + problem + "\n", exit_usage};
  }
  try {
    prepare_environment();
    if (!options_.replay.empty()) return replay_answer(options_);
    catch_interruptions();
    const Exploration exploration = Exploring(options_).run();
    const int status = exploration.interrupted != 0   ? 128 + exploration.interrupted
                       : exploration.failures.empty() ? exit_ok
                                                      : exit_failed;
    return {options_.json ? dump(exploration_json(exploration)) : exploration_text(exploration), "", status};
  } catch (const Refused& refused) {
    return {"", std::string("anyplace: ") + refused.what() + "\n", exit_failed};
  }
}

}  // namespace anyplace::tool
