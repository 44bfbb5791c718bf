// SPDX-License-Identifier: Apache-2.0
//
// conformance_runner: the suite with as few dependencies as possible. It is for machines where the `anyplace` command
// can't be built, because they lack the libraries that it uses; scripts/verify-gpu uses it. Elsewhere use `anyplace
// conformance`, which does the same and more.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "conformance.h"

namespace {

using namespace anyplace::conformance;

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

constexpr const char* usage =
    "usage: conformance_runner [OPTION VALUE]...\n"
    "  --place PLACE     the device to check (cpu_sim:0)\n"
    "  --plugin FILE     the backend's plugin file, if it isn't in the usual places\n"
    "  --module FILE     an image of the test kernels for this device\n"
    "  --other PLACE     a device of another backend\n"
    "  --junit FILE      write a JUnit report too\n"
    "  --filter TEXT     only cases with this text in their name, group or bullet\n"
    "  --exclude TEXT    no case with this text in its name, group or bullet; may be given again\n"
    "  --seed NUMBER     of the order of the cases and of the random ones (1)\n"
    "  --jobs NUMBER     cases at the same time (1)\n"
    "  --timeout NUMBER  seconds that each case is given (20)\n";

/// Throws CannotRun.
std::uint64_t number(const std::string& option, const std::string& text, std::uint64_t least) {
  const bool digits = !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
  const std::uint64_t value = digits ? std::strtoull(text.c_str(), nullptr, 10) : 0;
  if (!digits || value < least) throw CannotRun(option + " '" + text + "' is no number from " + std::to_string(least));
  return value;
}

struct CommandLine {
  Options options;
  std::string junit;
};

/// Throws CannotRun.
CommandLine parse(int argc, char** argv) {
  CommandLine line;
  const std::map<std::string, std::string*> texts{
      {"--place", &line.options.place}, {"--plugin", &line.options.plugin}, {"--module", &line.options.module},
      {"--other", &line.options.other}, {"--filter", &line.options.filter}, {"--junit", &line.junit}};
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 == argc) throw CannotRun(option + " needs a value\n" + usage);
    const std::string value = argv[i + 1];
    if (const auto text = texts.find(option); text != texts.end()) {
      *text->second = value;
    } else if (option == "--exclude") {
      line.options.excludes.push_back(value);
    } else if (option == "--seed") {
      line.options.seed = number(option, value, 0);
    } else if (option == "--jobs") {
      line.options.jobs = static_cast<unsigned>(number(option, value, 1));
    } else if (option == "--timeout") {
      line.options.timeout = std::chrono::seconds(number(option, value, 1));
    } else {
      throw CannotRun("there is no option " + option + "\n" + usage);
    }
  }
  return line;
}

/// Texts of a vendor may contain anything; this makes one that a terminal can show.
std::string shown(std::string text) {
  for (char& c : text) {
    if (c != '\n' && static_cast<unsigned char>(c) < ' ') c = '?';
  }
  return text;
}

void print(const CaseReport& one) {
  if (one.result != Result::failed) return;
  std::printf("failed  %s: %s\n        of %s, in %s:%d\n        %s\n", one.info.group.c_str(), one.info.name.c_str(),
              one.info.bullet.c_str(), one.info.file.c_str(), one.info.line, shown(one.reason).c_str());
  if (!one.call.empty()) std::printf("        in %s\n", shown(one.call).c_str());
  if (!one.output.empty()) std::printf("        its output:\n%s\n", shown(one.output).c_str());
}

int report(const Report& report) {
  std::map<std::string, int> lacking;
  for (const CaseReport& one : report.cases) {
    if (one.result == Result::skipped) ++lacking[one.reason];
  }
  for (const auto& [what, count] : lacking) std::printf("  %d skipped for want of %s\n", count, what.c_str());
  const int failed = report.count(Result::failed);
  const int passed = report.count(Result::passed);
  std::printf("%s: %s, backend %s %s\n%zu cases: %d passed, %d failed, %d skipped\n", report.place.c_str(),
              shown(report.device).c_str(), report.backend.c_str(), shown(report.backend_version).c_str(),
              report.cases.size(), passed, failed, report.count(Result::skipped));
  if (!report.not_run.empty()) std::printf("%zu cases were not run\n", report.not_run.size());
  if (report.interrupted != 0) return 128 + report.interrupted;
  if (passed + failed == 0) return exit_usage;
  return failed == 0 ? 0 : exit_failed;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h")) {
    std::fputs(usage, stdout);
    return 0;
  }
  const CommandLine line = parse(argc, argv);
  without_thread_caches();
  std::optional<JunitFile> junit;
  if (!line.junit.empty()) junit.emplace(line.junit);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a child must not inherit unwritten output
  catch_interruptions();
  const Report found = run(line.options, {{}, print, interrupted});
  if (junit) junit->write(found);
  return report(found);
} catch (const std::exception& error) {
  std::fprintf(stderr, "conformance_runner: %s\n", error.what());
  return exit_usage;
}
