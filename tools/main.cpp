// SPDX-License-Identifier: Apache-2.0
//
// `anyplace`: shows what an application on this machine would find. This file reads the command line, runs one
// subcommand, writes its output, and turns every outcome into one of three exit statuses.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include "cache.h"
#include "commands.h"
#include "error_text.h"
#include "new_backend.h"
#include "pages.h"
#include "probe.h"
#include "terminal.h"
#include "text.h"
#include "tools/compile.h"
#include "tools/explore.h"
#include "tools/network.h"
#include "tools/replay.h"
#include "tools/sweep.h"
#include "top.h"
#include "write_all.h"
#ifdef ANYPLACE_TOOL_CONFORMANCE
#include "tools/conformance.h"
#endif
#ifdef ANYPLACE_TOOL_TRACE
#include "tools/profile.h"
#include "tools/timeline.h"
#include "tools/trace_summary.h"
#endif

namespace anyplace::tool {
namespace {

constexpr const char* footer =
    "Exit status:\n"
    "  0  done: there is at least one device (devices, doctor, top), the place is there (info), the trace completed "
    "(replay),\n"
    "     the images are written (compile)\n"
    "  1  not so: no device, no such place, source that can't be compiled, out of memory, or standard output can't be "
    "written\n"
    "  2  the command line, the text of a place, a trace, a network's profile, or ANYPLACE_PROBE_TIMEOUT is wrong\n"
    "\n"
    "Environment:\n"
    "  ANYPLACE_BACKEND_PATH    directories to search for plugins first, \":\" between them\n"
    "  ANYPLACE_TRUSTED_FOLDERS folders whose plugins are taken although other users may write there\n"
    "  ANYPLACE_AUTO            the order in which the place `auto` looks for a device\n"
    "  ANYPLACE_CACHE           the folder in which compiled kernels are kept, or off\n"
    "  ANYPLACE_COMPILERS       which compilers of kernels are asked, and in which order\n"
    "  ANYPLACE_LAYERS          which layers are put over backends\n"
    "  ANYPLACE_ALLOCATOR       how replay's allocator works, as key:value,key:value\n"
    "  ANYPLACE_CPU_SIM_DEVICES how many devices cpu_sim has; docs/cpu_sim.md has its other variables, "
    "ANYPLACE_CPU_SIM_...\n"
    "  ANYPLACE_PROBE_TIMEOUT   seconds that devices, doctor and top wait for each answer of a plugin, 1 to 3600 "
    "(default 10)\n";

/// Opens those of the descriptors 0 to 2 that are closed, so that no pipe of this program gets such a number. Returns
/// whether standard output was closed.
bool open_standard_descriptors() noexcept {
  const bool closed = fcntl(STDOUT_FILENO, F_GETFD) < 0 && errno == EBADF;
  int descriptor = 0;
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = open("/dev/null", O_RDWR);
  if (descriptor > STDERR_FILENO) close(descriptor);
  return closed;
}

int say(const Answer& answer, bool output_closed) {
  write_all(STDERR_FILENO, answer.log);
  write_all(STDERR_FILENO, fitted(answer.notes, STDERR_FILENO));
  if (answer.output.empty()) return answer.status;
  if (output_closed) errno = EBADF;
  // JSON isn't broken into lines: a line end within a text would change the text.
  const bool is_json = answer.output.starts_with("{\n");
  const std::string& shown = is_json ? answer.output : fitted(answer.output, STDOUT_FILENO);
  if (output_closed || !write_all(STDOUT_FILENO, shown)) {
    const std::string reason = std::strerror(errno);
    write_all(STDERR_FILENO, "anyplace: can't write to standard output: " + reason + "\n");
    return exit_failed;
  }
  return answer.status;
}

std::string_view arguments_of(std::string_view command) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 15> known{{
      {"info", "PLACE [--json]"},
      {"conformance", "--place PLACE [option...] [--json]"},
      {"compile", "FILE --for TARGET[,TARGET] [option...]"},
      {"cache", "[list|verify|clear] [--json]"},
      {"new-backend", "NAME [--directory DIRECTORY] [--c]"},
      {"new-compiler", "NAME [--directory DIRECTORY]"},
      {"pages", "PAGE [FILE]"},
      {"top", "[option...] [--json]"},
      {"replay", "TRACE --place PLACE [option...] [--json]"},
      {"sweep", "[option...] [--json] -- PROGRAM [ARGUMENT...]"},
      {"explore", "[option...] [--json] -- PROGRAM [ARGUMENT...]"},
      {"network", "--profile NAME|FILE --machines COUNT [option...] [--json]"},
      {"trace-summary", "FILE [--compare FILE] [--least-overlap PERCENT] [--json]"},
      {"timeline", "FILE [--output FILE]"},
      {"profile", "--calibrate FILE --base NAME [--name NAME]"},
  }};
  for (const auto& [name, arguments] : known) {
    if (name == command) return arguments;
  }
  return "[--json]";
}

/// Which option, in front of a program's own arguments, the command doesn't have, as a sentence; "" if it has all.
/// CLI11 tells of what it took for the program's instead.
std::string unknown_option(const CLI::App& command, int argument_count, char** arguments) {
  std::vector<std::string> known;
  for (const CLI::Option* const option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (int i = 2; i < argument_count && std::string_view(arguments[i]) != "--"; ++i) {
    const std::string word = arguments[i], name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string meant = nearest(name, known);
    return command.get_name() + " has no option " + printable(name) +
           (meant.empty() ? "" : "; did you mean " + meant + "?");
  }
  return "";
}

/// The Answer for a wrong command line. CLI11 says what is wrong; this adds what would be right.
Answer usage_error(const CLI::App& app, const CLI::ParseError& error, int argument_count, char** arguments) {
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (is_listed(*command)) commands.push_back(command->get_name());
  }
  std::string text = "anyplace: ";
  const std::string first = argument_count > 1 ? arguments[1] : "";
  const auto is_first = [&first](const CLI::App* command) { return command->get_name() == first; };
  const bool is_command = !app.get_subcommands(is_first).empty();
  if (first.empty() || is_command || first.front() == '-') {
    const std::string unknown = is_command ? unknown_option(*app.get_subcommand(first), argument_count, arguments) : "";
    text += (unknown.empty() ? printable(error.what()) : unknown) + "\n";
  } else {
    const std::string meant = nearest(first, commands);
    text += "there is no command " + in_quotes(first);
    text += meant.empty() ? "\n" : "; did you mean '" + meant + "'?\n";
  }
  if (is_command) {
    text += "usage: anyplace " + first + " " + std::string(arguments_of(first)) + "\n";
  } else {
    text += "commands: " + joined(commands) + "\n";
  }
  return {"", text + "`anyplace " + (is_command ? first + " " : "") + "--help` says more\n", exit_usage};
}

/// Reads the option if it was given, else the variable; without both `timeout` keeps the default. Returns what is wrong
/// with the text; "" if nothing is.
std::string read_probe_timeout(const std::string& option, std::chrono::milliseconds& timeout) {
  const char* const variable = std::getenv("ANYPLACE_PROBE_TIMEOUT");
  const std::string text = !option.empty() ? option : variable != nullptr ? variable : "";
  if (text.empty()) return "";
  double seconds = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (failed != std::errc() || end != text.data() + text.size() || !(seconds >= 1 && seconds <= 3600)) {
    return std::string(option.empty() ? "ANYPLACE_PROBE_TIMEOUT" : "--probe-timeout") + " is " + in_quotes(text) +
           "; it takes a number of seconds, 1 to 3600";
  }
  timeout = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  return "";
}

Answer run(int argument_count, char** arguments, bool output_closed) {
  Options options;
  std::string seconds;
  CLI::App app("anyplace: shows the devices that an application can use, and why others can't be.", "anyplace");
  app.set_version_flag("--version", [] { return run_version({}).output; });
  app.footer(footer);
  app.require_subcommand(1);

  CLI::App* const devices = app.add_subcommand("devices", "Lists every device of every backend");
  CLI::App* const info = app.add_subcommand("info", "Shows all that one device says of itself");
  CLI::App* const doctor = app.add_subcommand("doctor", "Tries every plugin file; says what is wrong and what to do");
  CLI::App* const version = app.add_subcommand("version", "Shows the versions of library, headers and plugin ABI");
#ifdef ANYPLACE_TOOL_CONFORMANCE
  const ConformanceCommand conformance(app);
#endif
  const CompileCommand compile(app);
  const CacheCommand cache(app);
  const NewBackendCommand new_backend(app);
  const NewCompilerCommand new_compiler(app);
  const ReplayCommand replay(app);
  const SweepCommand sweep(app);
  const ExploreCommand explore(app);
  const NetworkCommand network(app);
#ifdef ANYPLACE_TOOL_TRACE
  const TraceSummaryCommand trace_summary(app);
  const TimelineCommand timeline(app);
  const ProfileCommand profile(app);
#endif
  const TopCommand top(app);
  const PagesCommand pages(app);
  for (CLI::App* const command : {devices, info, doctor, version}) {
    command->add_flag("--json", options.json, "Write JSON");
  }
  info->add_option("PLACE", options.place, "A place: cpu_sim:0, cuda, gpu:1, auto")->required();
  for (CLI::App* const command : {devices, doctor}) {
    command->add_option("--probe-timeout", seconds, "Seconds to wait for each answer of a plugin (default 10)");
  }

  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::CallForHelp&) {
    return {app.help(), "", exit_ok};
  } catch (const CLI::CallForVersion& asked) {
    return {asked.what(), "", exit_ok};
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error, argument_count, arguments);
  }
#ifdef ANYPLACE_TOOL_CONFORMANCE
  if (conformance.chosen()) return conformance.run();
#endif
  if (compile.chosen()) return compile.run();
  if (cache.chosen()) return cache.run();
  if (new_backend.chosen()) return new_backend.run();
  if (new_compiler.chosen()) return new_compiler.run();
  if (replay.chosen()) return replay.run();
  if (sweep.chosen()) return sweep.run();
  if (explore.chosen()) return explore.run();
  if (network.chosen()) return network.run();
#ifdef ANYPLACE_TOOL_TRACE
  if (trace_summary.chosen()) return trace_summary.run();
  if (timeline.chosen()) return timeline.run();
  if (profile.chosen()) return profile.run();
#endif
  if (pages.chosen()) return pages.run();
  if (*devices || *doctor || top.chosen()) {
    const std::string problem = read_probe_timeout(seconds, options.probe_timeout);
    if (!problem.empty()) return {"", "anyplace: " + problem + "\n", exit_usage};
  }
  if (top.chosen()) return top.run(options.probe_timeout, output_closed);
  if (*devices) return run_devices(options);
  if (*info) return run_info(options);
  return *doctor ? run_doctor(options) : run_version(options);
}

}  // namespace
}  // namespace anyplace::tool

int main(int argument_count, char** arguments) {
  using namespace anyplace::tool;
  const bool output_closed = open_standard_descriptors();
  if (argument_count > 1 && std::string_view(arguments[1]) == probe_command) {
    run_probe_child(argument_count - 2, arguments + 2);
  }
  // Without the signal, a reader of the output that went away is an error to report, like a full disk.
  signal(SIGPIPE, SIG_IGN);
  try {
    return say(run(argument_count, arguments, output_closed), output_closed);
  } catch (const anyplace::Error& error) {
    return say({"", error_text("anyplace", error), exit_failed}, output_closed);
  } catch (const std::exception& error) {
    return say({"", std::string("anyplace: ") + error.what() + "\n", exit_failed}, output_closed);
  }
}
