// SPDX-License-Identifier: Apache-2.0
#include "explore_runs.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "text.h"

namespace anyplace::tool {
namespace {

namespace fs = std::filesystem;

constexpr int deadlock_status = 94, diverged_status = 95;  // docs/cpu_sim-deterministic.md

bool has_layer(const std::string& layers, std::string_view name) {
  std::string_view rest = layers;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    if (item.substr(item.find('+') + 1) == name) return true;
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
  }
  return false;
}

/// The settings of the layer `validate` with a file of reports for each process of a run instead of the user's.
std::string validate_settings(const std::string& folder) {
  std::string settings = environment_variable("ANYPLACE_VALIDATE"), kept;
  std::replace(settings.begin(), settings.end(), ',', ' ');
  std::string_view rest = settings;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    if (!word.empty() && !word.starts_with("report=")) kept += std::string(word) + " ";
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return kept + "report=" + folder + "/validate-%p.json";
}

/// Whether the line is one of those that launchers draw around what they say of a rank that failed.
bool is_rule(const std::string& line) {
  return line.size() >= 20 && line.find_first_not_of(line.front() == '=' ? "=" : "-") == std::string::npos;
}

/// The line of standard error that says why the run failed: of one that a signal ended the last line that is anyplace's
/// own, if there is one, because what else reports of signals are, such as the frames of a stack, comes behind it; else
/// the last line with a letter or a digit. What a job's launcher says begins with a rule, and isn't looked at unless
/// there is nothing before it. That a deviation never came up, which shrinking tries, is no part of a failure.
std::string telling_line(const std::string& path, bool is_signal, bool is_job) {
  std::ifstream file(path);
  std::string last, own;
  for (std::string line; std::getline(file, line);) {
    if (is_job && is_rule(line) && !last.empty()) break;
    if (line.find("the program and the file of choices diverge at the file's deviation ") != line.npos) continue;
    const auto is_word = [](unsigned char c) { return std::isalnum(c) != 0 || c >= 0x80; };
    if (std::any_of(line.begin(), line.end(), is_word)) last = line;
    if (line.starts_with("anyplace: ")) own = line;
  }
  return printable(is_signal && !own.empty() ? own : last);
}

std::uint64_t hash_of(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// The hash that the report ends with, or one of the options that were taken where it has no end.
std::uint64_t report_hash(const ScheduleReport& report, const std::string& path) {
  std::uint64_t hash = 0;
  const std::string& text = report.hash;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  if (!text.empty() && error == std::errc() && end == text.data() + text.size()) return hash;
  hash = 0xcbf29ce484222325;
  for (const ScheduleChoice& choice : read_schedule_report(path, ReportPart::all).choices) {
    hash = hash_of(hash, std::to_string(choice.taken) + ",");
  }
  return hash;
}

/// The report's hash; of a job that of all ranks' reports.
std::uint64_t schedule_hash(const ScheduleRun& run) {
  std::uint64_t hash = report_hash(run.report, run.report_path());
  for (std::uint32_t rank = 1; rank <= run.other_ranks.size(); ++rank) {
    hash = hash_of(hash, std::to_string(report_hash(run.other_ranks[rank - 1], run.report_path(rank))));
  }
  return hash;
}

/// Why cpu_sim itself ended a rank of a job. The launcher's exit status may be another one.
RunFailure failure_of_rank(const ScheduleRun& run) {
  for (std::uint32_t rank = 0; rank <= run.other_ranks.size(); ++rank) {
    const ScheduleReport& report = rank == 0 ? run.report : run.other_ranks[rank - 1];
    for (const auto& [kind, text] :
         {std::pair("diverged", &report.diverged), std::pair("deadlock", &report.deadlock)}) {
      if (text->empty()) continue;
      const std::string message = "rank " + std::to_string(rank) + ": " + *text;
      return {kind, message, without_numbers(message)};
    }
  }
  return {};
}

/// What the program was in when it was ended for its time.
std::string last_call(const std::string& report) {
  const ScheduleReport all = read_schedule_report(report, ReportPart::all);
  if (all.choices.empty()) return "; it came to no choice";
  const ScheduleChoice& last = all.choices.back();
  const std::string what = last.taken < last.options.size() ? last.options[last.taken].what : "?";
  return "; the last choice, " + std::to_string(all.choices.size() - 1) + ", came up in a call of thread " +
         std::to_string(last.at_thread) + " and took " + what;
}

RunFailure failure(const char* kind, const std::string& message) { return {kind, message, without_numbers(message)}; }

}  // namespace

std::string without_numbers(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto is_digit = [&](std::size_t at) {
      return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]));
    };
    if (!is_digit(i)) {
      plain += text[i];
      continue;
    }
    const bool is_hex = text[i] == '0' && i + 1 < text.size() && text[i + 1] == 'x';
    if (is_hex) ++i;
    while (is_digit(i + 1) || (is_hex && i + 1 < text.size() && std::isxdigit(static_cast<unsigned char>(text[i + 1]))))
      ++i;
    plain += '#';
  }
  return plain;
}

std::string choices_text(const Schedule& schedule) {
  std::string text;
  for (const std::uint32_t choice : schedule.choices) text += std::to_string(choice) + "\n";
  for (const std::string& deviation : schedule.deviations) text += deviation + "\n";
  return text;
}

std::vector<std::uint32_t> taken_choices(const ScheduleReport& report) {
  std::vector<std::uint32_t> taken;
  std::size_t used = 0;
  for (const ScheduleChoice& choice : report.choices) {
    taken.push_back(choice.taken);
    if (choice.taken != choice.plain) used = taken.size();
  }
  taken.resize(used);
  return taken;
}

RunVariables schedule_variables(const Schedule& schedule, const std::string& choices_file) {
  RunVariables variables{{"ANYPLACE_CPU_SIM_MODE", "deterministic"}};
  if (schedule.strategy.empty()) {
    variables.emplace_back("ANYPLACE_CPU_SIM_STRATEGY", "choices:" + choices_file);
  } else {
    variables.emplace_back("ANYPLACE_CPU_SIM_STRATEGY", schedule.strategy);
  }
  // The layer faults draws from the seed, too, whoever chooses.
  variables.emplace_back("ANYPLACE_CPU_SIM_SEED", std::to_string(schedule.seed));
  return variables;
}

ScheduleRuns::ScheduleRuns(const ExploredProgram& program)
    : folder_(program.folder),
      is_validated_(has_layer(environment_variable("ANYPLACE_LAYERS"), "validate")),
      pool_(program.words, program.folder, program.jobs, program.limit) {}

void ScheduleRuns::start(Schedule schedule) {
  const std::uint64_t number = ++last_number_;
  const std::string folder = run_folder(folder_, number), choices = folder + ".choices";
  if (schedule.strategy.empty()) {
    fs::create_directories(folder_);
    std::ofstream file(choices);
    file << choices_text(schedule);
    if (!file.flush()) throw std::runtime_error("can't write " + choices);
  }
  RunVariables variables = schedule_variables(schedule, choices);
  variables.emplace_back("ANYPLACE_CPU_SIM_REPORT", folder + "/report");
  if (is_validated_) variables.emplace_back("ANYPLACE_VALIDATE", validate_settings(folder));
  pool_.start(number, variables);
  started_.emplace(number, std::move(schedule));
}

ScheduleRun ScheduleRuns::wait() {
  ScheduleRun run;
  static_cast<ProgramRun&>(run) = pool_.wait();
  const auto found = started_.find(run.number);
  run.schedule = std::move(found->second);
  started_.erase(found);
  run.folder = run_folder(folder_, run.number);
  std::error_code ignored;
  fs::remove(run.folder + ".choices", ignored);
  run.report = read_schedule_report(run.report_path(), ReportPart::ends);
  for (std::uint32_t rank = 1; rank < run.report.ranks; ++rank) {
    run.other_ranks.push_back(read_schedule_report(run.report_path(rank), ReportPart::ends));
  }
  run.failure = judge(run);
  run.hash = schedule_hash(run);
  return run;
}

ScheduleRun ScheduleRuns::run(Schedule schedule) {
  start(std::move(schedule));
  return wait();
}

RunFailure ScheduleRuns::reported_by_validate(const std::string& folder) const {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("validate-")) continue;
    std::ifstream file(entry.path());
    const auto json = nlohmann::json::parse(file, nullptr, false);
    if (!json.is_object() || !json.contains("reports") || json["reports"].empty()) continue;
    const auto& first = json["reports"].front();
    const std::string message = first.value("message", "");
    return {"report", printable(message.substr(0, message.find('\n'))), first.value("key", message)};
  }
  return {};
}

RunFailure ScheduleRuns::judge(const ScheduleRun& run) const {
  if (run.start_error != 0 || run.interrupted) return {};
  if (run.hung) {
    // Whatever was chosen last, it is one failure: a hang says nothing else of what it is.
    return {"hang", "no end within " + std::to_string(run.took.count() / 1000) + " s" + last_call(run.report_path()),
            "hang"};
  }
  if (!run.is_job() && run.status == diverged_status && !run.report.diverged.empty())
    return failure("diverged", run.report.diverged);
  if (!run.is_job() && run.status == deadlock_status && !run.report.deadlock.empty())
    return failure("deadlock", run.report.deadlock);
  if (run.is_job() && (run.status != 0 || run.signal != 0)) {
    if (RunFailure ended = failure_of_rank(run)) return ended;
  }
  if (is_validated_) {
    if (RunFailure reported = reported_by_validate(run.folder)) return reported;
  }
  const std::string last = telling_line(run.folder + "/stderr", run.signal != 0, run.is_job());
  const std::string said = last.empty() ? "" : ": " + last;
  if (run.signal != 0) return failure("crash", strsignal(run.signal) + said);
  if (run.status != 0) {
    RunFailure failed = failure("exit", "exit status " + std::to_string(run.status) + said);
    failed.key = std::to_string(run.status) + " " + without_numbers(last);
    return failed;
  }
  if (reference_.empty()) return {};
  auto names = differing_files(reference_, run.folder);
  std::erase_if(names, [this](const std::string& name) { return unsteady_.contains(name); });
  if (names.empty()) return {};
  return failure("output", joined({names.begin(), names.end()}) + (names.size() == 1 ? " differs" : " differ") +
                               " from what the plain schedule writes");
}

}  // namespace anyplace::tool
