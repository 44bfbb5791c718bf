// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance.h"

#include <dlfcn.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include "anyplace/version.h"
#include "error_text.h"
#include "interruption.h"
#include "json.h"
#include "number.h"
#include "terminal.h"
#include "text.h"

namespace anyplace::tool {
namespace {

using conformance::CaseInfo;
using conformance::CaseReport;
using conformance::Report;
using conformance::Result;

std::string title(const CaseInfo& info) { return info.group + ": " + info.name; }

// ---- --list

/// The cases of each bullet that match. A bullet without any is shown only if there is no filter.
std::string list_text(const std::string& filter) {
  std::string text;
  const std::vector<CaseInfo> all = conformance::cases();
  for (const conformance::Bullet& bullet : conformance::bullets()) {
    std::string lines;
    for (const CaseInfo& info : all) {
      if (info.bullet != bullet.id || !matches(info, filter)) continue;
      lines += "    " + title(info);
      for (std::size_t i = 0; i < info.needs.size(); ++i) lines += (i == 0 ? "  [needs " : ", ") + info.needs[i];
      lines += info.needs.empty() ? "\n" : "]\n";
    }
    if (lines.empty() && !filter.empty()) continue;
    text += std::string(bullet.id) + ": " + bullet.text + "\n" + lines + "\n";
  }
  return text;
}

std::string list_json(const std::string& filter) {
  Json bullets = Json::array();
  int count = 0;
  const std::vector<CaseInfo> all = conformance::cases();
  for (const conformance::Bullet& bullet : conformance::bullets()) {
    Json cases = Json::array();
    for (const CaseInfo& info : all) {
      if (info.bullet != bullet.id || !matches(info, filter)) continue;
      ++count;
      cases.push_back(Json{
          {"group", info.group}, {"name", info.name}, {"needs", info.needs}, {"file", info.file}, {"line", info.line}});
    }
    if (cases.empty() && !filter.empty()) continue;
    bullets.push_back(Json{{"bullet", bullet.id}, {"text", bullet.text}, {"cases", std::move(cases)}});
  }
  return dump(Json{{"cases", count}, {"bullets", std::move(bullets)}});
}

Answer list(const std::string& filter, bool json) {
  const std::vector<CaseInfo> all = conformance::cases();
  if (std::none_of(all.begin(), all.end(), [&](const CaseInfo& info) { return matches(info, filter); })) {
    return {"", "anyplace: no case has '" + printable(filter) + "' in its name\n", exit_usage};
  }
  return {json ? list_json(filter) : list_text(filter), "", exit_ok};
}

// ---- A report

Json case_json(const CaseReport& one) {
  const bool failed = one.result == Result::failed;
  const bool skipped = one.result == Result::skipped;
  return Json{{"name", one.info.name},
              {"group", one.info.group},
              {"bullet", one.info.bullet},
              {"result", to_string(one.result)},
              {"seconds", one.seconds},
              {"reason", failed ? text_or_null(one.reason) : Json()},
              {"call", failed ? text_or_null(one.call) : Json()},
              {"output", failed ? text_or_null(one.output) : Json()},
              {"lacks", skipped ? text_or_null(one.reason) : Json()}};
}

std::string report_json(const Report& report) {
  Json cases = Json::array();
  for (const CaseReport& one : report.cases) cases.push_back(case_json(one));
  return dump(Json{{"place", report.place},
                   {"device", text_or_null(report.device)},
                   {"backend", report.backend},
                   {"backend_version", text_or_null(report.backend_version)},
                   {"plugin", report.plugin},
                   {"seed", report.seed},
                   {"conforms", report.conforms()},
                   {"interrupted", report.interrupted == 0 ? Json() : Json(signal_text(report.interrupted))},
                   {"not_run", static_cast<int>(report.not_run.size())},
                   {"cases", static_cast<int>(report.cases.size())},
                   {"passed", report.count(Result::passed)},
                   {"failed", report.count(Result::failed)},
                   {"skipped", report.count(Result::skipped)},
                   {"list", std::move(cases)}});
}

std::string indented(const std::string& text, const std::string& by) {
  std::string out;
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    out += by + printable(text.substr(from, end - from)) + "\n";
    from = end + 1;
  }
  return out;
}

/// The sentence of a bullet. It is shown so that vendors, who may lack the sources, can read the promise.
std::string promise(const std::string& bullet) {
  for (const conformance::Bullet& one : conformance::bullets()) {
    if (bullet == one.id) return one.text;
  }
  return "";
}

Paint paint_of(Result result) {
  switch (result) {
    case Result::passed:
      return Paint::good;
    case Result::skipped:
      return Paint::doubtful;
    default:
      return Paint::bad;
  }
}

/// The result of a case as text. `paint` is painted() for standard output, painted_note() for standard error.
std::string case_text(const CaseReport& one, std::string (*paint)(Paint, std::string_view)) {
  char seconds[32];
  std::snprintf(seconds, sizeof(seconds), "%.3f s", one.seconds);
  std::string text =
      paint(paint_of(one.result), to_string(one.result)) + "  " + title(one.info) + "  (" + seconds + ")\n";
  if (one.result == Result::skipped) text += "        it needs " + one.reason + "\n";
  if (one.result != Result::failed) return text;
  text += "        of " + one.info.bullet + ", in " + one.info.file + ":" + std::to_string(one.info.line) + "\n";
  text += indented("which promises: " + promise(one.info.bullet), "        ");
  text += indented(one.reason, "        ");
  if (!one.call.empty()) text += indented("in " + one.call, "        ");
  if (!one.output.empty()) text += "        its output:\n" + indented(one.output, "        | ");
  return text;
}

/// A line for each thing that cases were skipped for want of: "  12 skipped for want of host_functions".
std::string skipped_text(const Report& report) {
  std::map<std::string, int> lacking;
  for (const CaseReport& one : report.cases) {
    if (one.result == Result::skipped) ++lacking[one.reason];
  }
  std::string text;
  for (const auto& [what, count] : lacking)
    text += "  " + std::to_string(count) + " skipped for want of " + what + "\n";
  return text;
}

std::string heading(const Report& report) {
  return report.place + ": " + printable(report.device) + ", backend " + report.backend + " " +
         printable(report.backend_version) + ", " + report.plugin + "\nseed " + std::to_string(report.seed) + "\n\n";
}

/// The folder of the cases' sources, which failures name; "" where they aren't installed.
std::string sources_folder() {
  Dl_info info{};
  const auto address = reinterpret_cast<void*>(&anyplace::version);
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  const auto folder = std::filesystem::path(info.dli_fname).parent_path() / "anyplace";
  std::error_code error;
  return std::filesystem::is_directory(folder / "conformance/cases", error) ? folder.string() : "";
}

std::string verdict(Paint paint, const std::string& text) { return painted(paint, text) + "\n"; }

/// The numbers of cases, and the verdict.
std::string summary(const Report& report) {
  const int failed = report.count(Result::failed);
  std::string text = skipped_text(report);
  text += std::to_string(report.cases.size()) + " cases: " + std::to_string(report.count(Result::passed)) +
          " passed, " + std::to_string(failed) + " failed, " + std::to_string(report.count(Result::skipped)) +
          " skipped\n";
  if (failed > 0) {
    if (const std::string folder = sources_folder(); !folder.empty()) {
      text += "the cases that failed are to be read in " + printable(folder) + "\n";
    }
  }
  const std::string left = std::to_string(report.not_run.size()) + " cases were not run";
  if (report.interrupted != 0) {
    text += "interrupted by " + signal_text(report.interrupted) + ": " + left + "\n";
    return text + verdict(failed == 0 ? Paint::doubtful : Paint::bad,
                          report.place + (failed == 0 ? ": no verdict" : " doesn't conform"));
  }
  if (!report.not_run.empty()) text += "stopped at the first failure: " + left + "\n";
  return text + verdict(failed == 0 ? Paint::good : Paint::bad,
                        report.place + (failed == 0 ? " conforms" : " doesn't conform"));
}

// ---- Progress

/// Shows the progress of a run: each failure as it comes and, on a terminal, a line that counts cases.
class SuiteProgress {
 public:
  SuiteProgress(std::size_t cases, bool json, bool verbose)
      : cases_(cases), json_(json), verbose_(verbose), counted_(isatty(STDERR_FILENO) != 0) {}

  void begin(const Report& report) {
    if (!json_) say(STDOUT_FILENO, heading(report));
  }
  void add(const CaseReport& one) {
    ++done_;
    failed_ += one.result == Result::failed;
    if (one.result == Result::failed || (verbose_ && !json_)) {
      end();
      if (json_) {
        say(STDERR_FILENO, case_text(one, painted_note));
      } else {
        say(STDOUT_FILENO, case_text(one, painted));
      }
    }
    if (counted_) std::fprintf(stderr, "\r%zu of %zu cases, %d failed ", done_, cases_, failed_);
  }
  /// Erases the line that counts.
  void end() const {
    if (counted_) std::fputs("\r\033[K", stderr);
  }

 private:
  /// Writes without a buffer, since the process forks. Errors are ignored here; main finds them when it writes the
  /// rest.
  static void say(int descriptor, std::string_view text) noexcept {
    while (!text.empty()) {
      const ssize_t written = write(descriptor, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  std::size_t cases_;
  bool json_;
  bool verbose_;
  bool counted_;
  std::size_t done_ = 0;
  int failed_ = 0;
};

std::size_t count_chosen(const conformance::Options& options) {
  const std::vector<CaseInfo> all = conformance::cases();
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](const CaseInfo& info) { return is_chosen(info, options); }));
}

Answer cannot_run(const std::string& text, bool json) {
  if (json) return {dump(Json{{"error", Json{{"code", "cannot_run"}, {"text", text}}}}), "", exit_usage};
  return {"", "anyplace: " + indented(text, ""), exit_usage};
}

}  // namespace

ConformanceCommand::ConformanceCommand(CLI::App& app)
    : command_(app.add_subcommand("conformance", "Checks a backend against every promise of the contract")) {
  command_->add_option("--place", options_.place, "The device to check (default cpu_sim:0)");
  command_->add_option("--plugin", options_.plugin, "The backend's plugin file, if it isn't in the usual places");
  command_->add_option("--module", options_.module, "An image of the test kernels for this device");
  command_->add_option("--other", options_.other, "A device of another backend, for the cases between two");
  command_->add_option("--junit", junit_, "Write a JUnit report to this file too");
  command_->add_option("--filter", options_.filter, "Only cases with this text in their name, group or bullet");
  command_
      ->add_option("--exclude", options_.excludes,
                   "No case with this text in its name, group or bullet; may be given again")
      ->allow_extra_args(false);
  command_->add_option("--seed", options_.seed, "The seed for the order of the cases and for random data (default 1)")
      ->check([](const std::string& text) {
        return parse_number(text) ? std::string() : in_quotes(text) + " is no number from 0 to 2^64 - 1";
      });
  command_->add_option("--jobs", options_.jobs, "Cases at the same time (default 1)")->check(CLI::Range(1u, 256u));
  command_->add_option("--timeout", seconds_, "Seconds that each case is given (default 20)")
      ->check(CLI::Range(0.1, 86400.0));
  command_->add_flag("--fail-fast", options_.fail_fast, "Stop at the first case that fails");
  command_->add_flag("--list", list_, "Show every promise and its cases instead");
  command_->add_flag("--json", json_, "Write JSON");
  command_->add_flag("--verbose", verbose_, "Show every case, not only those that failed");
  command_->footer(
      "Exit status:\n"
      "  0  the backend conforms\n"
      "  1  it doesn't\n"
      "  2  the suite couldn't run: a bad option, or a place that isn't there\n"
      "  128 + N  signal N (SIGINT is 2, SIGTERM 15) ended it early; what it found until then is reported");
}

bool ConformanceCommand::chosen() const { return command_->parsed(); }

Answer ConformanceCommand::answer(const Report& report) const {
  const bool all_skipped = report.count(Result::passed) + report.count(Result::failed) == 0;
  Answer answer{json_ ? report_json(report) : "", "", exit_ok};
  if (report.interrupted != 0) {
    answer.status = 128 + report.interrupted;
  } else if (all_skipped) {
    answer.notes = "anyplace: every case was skipped\n";
    answer.status = exit_usage;
  } else if (report.count(Result::failed) > 0) {
    answer.status = exit_failed;
  }
  if (json_) return answer;
  // Failures were shown when they came.
  if (all_skipped && !verbose_) {
    for (const CaseReport& one : report.cases) answer.output += case_text(one, painted);
  }
  answer.output += summary(report);
  return answer;
}

Answer ConformanceCommand::run() const {
  if (list_) return list(options_.filter, json_);
  conformance::without_thread_caches();
  conformance::Options options = options_;
  options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(seconds_ * 1000));
  try {
    std::optional<conformance::JunitFile> junit;
    if (!junit_.empty()) junit.emplace(junit_);
    SuiteProgress progress(count_chosen(options), json_, verbose_);
    conformance::catch_interruptions();
    const Report report =
        conformance::run(options, {[&](const Report& found) { progress.begin(found); },
                                   [&](const CaseReport& one) { progress.add(one); }, conformance::interrupted});
    progress.end();
    if (junit) junit->write(report);
    return answer(report);
  } catch (const conformance::CannotRun& error) {
    return cannot_run(error.what(), json_);
  } catch (const Error& error) {
    if (json_) return cannot_run(error.what(), json_);
    return {"", error_text("anyplace", error), exit_usage};
  }
}

}  // namespace anyplace::tool
