// SPDX-License-Identifier: Apache-2.0
// `anyplace doctor`: shows everything that decides which devices there are: the environment, the names, and every
// plugin file, each tried in a child process. Where something is wrong, it says why, and what to do about it.
#include <algorithm>
#include <map>
#include <utility>

#include "advice.h"
#include "anyplace/annotate.h"
#include "anyplace/backend/abi.h"
#include "anyplace/communicator.h"
#include "anyplace/kernel_cache.h"
#include "commands.h"
#include "compilers.h"
#include "environment.h"
#include "forked.h"
#include "layers.h"
#include "probe.h"
#include "terminal.h"
#include "text.h"

namespace anyplace::tool {
namespace {

/// One plugin file, and whether it can be used.
struct Finding {
  PluginCandidate candidate;
  Probe probe;
  /// "accepted", "shadowed", or the code of the problem that keeps it from being used.
  std::string state;
  std::string reason;  ///< "" if accepted
  std::string advice;  ///< "" if there is nothing to do
};

bool usable(const Finding& finding) { return finding.state == "accepted" && !finding.probe.devices.empty(); }

/// Judges a file that was accepted. A backend without devices is in working order, but the reader wants to know why it
/// shows none.
void judge_accepted(Finding& finding) {
  finding.state = "accepted";
  if (!finding.probe.problems.empty()) {
    const Problem& problem = finding.probe.problems.front();
    finding.advice = advice(problem.code, finding.candidate.name);
  } else if (finding.probe.devices.empty()) {
    finding.reason = "it works, but finds no device";
    finding.advice = advice("no_such_device", finding.candidate.name);
  }
}

/// Whether asking for the file would take an application down, so that no later file of the name is ever tried.
bool fatal(const Probe& probe) { return !probe.complete && probe.problems.back().code != "not_started"; }

/// Tries every file. The first of a name that is accepted, or that takes the process down, hides the later ones.
std::vector<Finding> examine(const std::vector<PluginCandidate>& candidates, std::chrono::milliseconds limit) {
  std::vector<Finding> findings;
  std::map<std::string, std::string> first_of_name;
  for (const PluginCandidate& candidate : candidates) {
    Finding finding;
    finding.candidate = candidate;
    finding.probe = probe_file(candidate.name, candidate.path, limit);
    const auto first = first_of_name.find(candidate.name);
    if (first != first_of_name.end()) {
      finding.state = "shadowed";
      finding.reason = first->second + " comes first";
      finding.advice = advice("shadowed", candidate.name);
    } else if (finding.probe.usable() && !fatal(finding.probe)) {
      judge_accepted(finding);
      first_of_name[candidate.name] = candidate.path;
    } else {
      const Problem problem = finding.probe.problems.empty() ? Problem{"", to_string(ErrorCode::internal), ""}
                                                             : finding.probe.problems.back();
      finding.state = problem.code;
      finding.reason = problem.text;
      finding.advice = problem.remedy.empty() ? advice(problem.code, candidate.name) : problem.remedy;
      if (fatal(finding.probe)) first_of_name[candidate.name] = candidate.path;
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

/// Backends that have an alias, hence are known by name, but no plugin file.
std::vector<std::string> missing_backends(const std::vector<std::string>& found) {
  std::vector<std::string> missing;
  for (const BackendAlias& alias : backend_aliases()) {
    const std::string name(alias.backend);
    if (std::find(found.begin(), found.end(), name) != found.end()) continue;
    if (std::find(missing.begin(), missing.end(), name) == missing.end()) missing.push_back(name);
  }
  return missing;
}

std::string device_list(const std::vector<Json>& devices) {
  constexpr std::size_t shown = 8;
  std::vector<std::string> places;
  for (const Json& device : devices) {
    if (places.size() == shown) {
      places.push_back("...");
      break;
    }
    places.push_back(device.at("place").get<std::string>());
  }
  if (places.empty()) return "none";
  return std::to_string(devices.size()) + ": " + joined(places);
}

std::string heading(const std::string& text) { return painted(Paint::heading, text) + "\n"; }

std::string environment_text(const Environment& environment) {
  std::string text = heading(std::string("anyplace ") + version());
  text += field("library", environment.library.empty() ? "unknown" : environment.library);
  text += field("plugin ABI", std::to_string(ANYPLACE_ABI_MAJOR) + "." + std::to_string(ANYPLACE_ABI_MINOR));
  for (const std::string& kernels : own_kernels()) text += field("own kernels", kernels);
  text += field("raised privileges",
                environment.raised_privileges
                    ? "yes: ANYPLACE_BACKEND_PATH, ANYPLACE_TRUSTED_FOLDERS and ANYPLACE_LAYERS are ignored"
                    : "no");
  text += heading("variables");
  if (environment.variables.empty()) text += "  none\n";
  for (const Variable& variable : environment.variables) {
    text += "  " + printable(variable.name + "=" + variable.value) + "\n";
    text += "      " + (variable.meaning.empty() ? "not read by anything that is installed" : variable.meaning) + "\n";
  }
  text += heading("search, in this order");
  for (const PluginDirectory& directory : environment.directories) {
    const char* const gone = directory.is_there ? "" : "; not there";
    text += "  " + printable(directory.path) + " (" + to_string(directory.source) + gone + ")\n";
  }
  for (const PluginDirectoryProblem& problem : plugin_directory_problems()) {
    text += "  " + printable(problem.directory) + " can't be used: " + printable(problem.reason) + "\n";
  }
  std::vector<std::string> aliases;
  for (const BackendAlias& alias : backend_aliases()) {
    aliases.push_back(std::string(alias.alias) + " -> " + std::string(alias.backend));
  }
  return text + heading("aliases") + "  " + joined(aliases) + "\n";
}

/// The sources of the devices' figures; a source that several devices share is shown once.
std::string monitoring_text(const Probe& probe) {
  std::vector<std::string> told;
  std::string text;
  for (const auto& [place, source] : probe.monitoring.items()) {
    const std::string words = source.get<std::string>();
    if (words.empty() || std::find(told.begin(), told.end(), words) != told.end()) continue;
    told.push_back(words);
    text += field("  monitoring", words);
  }
  return text;
}

std::string finding_text(const Finding& finding) {
  const PluginCandidate& candidate = finding.candidate;
  const Paint paint = usable(finding)               ? Paint::good
                      : fatal(finding.probe)        ? Paint::bad
                      : finding.state == "shadowed" ? Paint::name
                                                    : Paint::doubtful;
  std::string text = "  " + candidate.name + ": " + painted(paint, finding.state) + "\n";
  text += field("  file", candidate.path + " (" + to_string(candidate.source) + ")");
  if (!finding.reason.empty()) text += field("  why", finding.reason);
  if (finding.probe.usable()) {
    const Json& backend = finding.probe.backend;
    const Json& abi = backend.at("abi");
    text +=
        field("  version", (backend.at("version").is_null() ? "unknown" : backend.at("version").get<std::string>()) +
                               ", ABI " + abi.at("major").dump() + "." + abi.at("minor").dump());
    text += field("  devices", device_list(finding.probe.devices));
    text += monitoring_text(finding.probe);
  }
  for (const Problem& problem : finding.probe.problems) {
    if (problem.text == finding.reason) continue;
    const std::string subject = problem.place.empty() ? "  problem" : "  " + problem.place;
    text += field(subject, problem.code + ": " + problem.text);
  }
  if (!finding.advice.empty()) text += field("  to do", finding.advice);
  return text;
}

Json finding_json(const Finding& finding) {
  const PluginCandidate& candidate = finding.candidate;
  Json devices = Json::array();
  for (const Json& device : finding.probe.devices) devices.push_back(device.at("place"));
  Json problems = Json::array();
  for (const Problem& problem : finding.probe.problems) problems.push_back(problem_json(candidate.name, problem));
  const bool loads = finding.probe.usable();
  return Json{
      {"name", candidate.name},
      {"path", candidate.path},
      {"source", to_string(candidate.source)},
      {"state", finding.state},
      {"loads", loads},
      {"reason", text_or_null(finding.reason)},
      {"advice", text_or_null(finding.advice)},
      {"version", loads ? finding.probe.backend.at("version") : Json()},
      {"abi", loads ? finding.probe.backend.at("abi") : Json()},
      {"devices", std::move(devices)},
      {"monitoring", finding.probe.monitoring},
      {"problems", std::move(problems)},
  };
}

/// The engines of communicators, with their plugins. They are opened in a child process, whose end is no end of this
/// one.
Json examine_engines(std::chrono::milliseconds limit) {
  try {
    return in_forked_child(
        [] {
          Json engines = Json::array();
          for (const CommunicatorEngine& engine : communicator_engines()) {
            engines.push_back(Json{{"name", engine.name},
                                   {"plugin", engine.plugin},
                                   {"serves", engine.serves},
                                   {"library", engine.library},
                                   {"usable", engine.usable},
                                   {"version", text_or_null(engine.version)},
                                   {"reason", text_or_null(engine.reason)}});
          }
          return Json{{"engines", std::move(engines)}, {"problem", nullptr}};
        },
        limit);
  } catch (const std::exception& error) {
    return Json{{"engines", Json::array()}, {"problem", std::string("opening them failed: ") + error.what()}};
  }
}

std::string engines_text(const Json& examined) {
  const auto text_of = [](const Json& engine, const char* key) { return engine.at(key).get<std::string>(); };
  std::string text;
  for (const Json& engine : examined.at("engines")) {
    const bool usable = engine.at("usable").get<bool>();
    text += "  " + text_of(engine, "name") + ": " +
            (usable ? painted(Paint::good, "can be used") : painted(Paint::name, "not there")) + "\n";
    text += field("  plugin", text_of(engine, "plugin"));
    if (!text_of(engine, "serves").empty()) text += field("  for", text_of(engine, "serves"));
    text += usable ? field("  file", text_of(engine, "library")) + field("  version", text_of(engine, "version"))
                   : field("  why", text_of(engine, "reason"));
  }
  if (!examined.at("problem").is_null()) text += field("problem", examined.at("problem").get<std::string>());
  return text;
}

/// The tools that hear annotations. They are opened in a child process, so that one that crashes doesn't end this
/// process.
Json examine_listeners(std::chrono::milliseconds limit) {
  try {
    return in_forked_child(
        [] {
          Json listeners = Json::array();
          for (const annotate::ListenerLibrary& listener : annotate::listener_libraries()) {
            listeners.push_back(Json{{"name", listener.name},
                                     {"library", text_or_null(listener.library)},
                                     {"active", listener.active},
                                     {"reason", text_or_null(listener.reason)}});
          }
          return Json{{"listeners", std::move(listeners)}, {"problem", nullptr}};
        },
        limit);
  } catch (const std::exception& error) {
    return Json{{"listeners", Json::array()}, {"problem", std::string("opening them failed: ") + error.what()}};
  }
}

std::string listeners_text(const Json& examined) {
  std::string text;
  for (const Json& listener : examined.at("listeners")) {
    const bool active = listener.at("active").get<bool>();
    text += "  " + listener.at("name").get<std::string>() + ": " +
            (active ? painted(Paint::good, "listens") : painted(Paint::name, "doesn't listen")) + "\n";
    if (!listener.at("library").is_null()) text += field("  file", listener.at("library").get<std::string>());
    if (!listener.at("reason").is_null()) text += field("  why", listener.at("reason").get<std::string>());
  }
  if (!examined.at("problem").is_null()) text += field("problem", examined.at("problem").get<std::string>());
  return text;
}

/// Where compiled kernels are kept, or why none are: then each start of a program compiles its kernels anew.
struct KernelCacheState {
  std::string folder, problem, warning;
};

std::string kernel_cache_text(const KernelCacheState& cache) {
  if (cache.problem.empty()) {
    return field("folder", cache.folder) + (cache.warning.empty() ? "" : field("warning", cache.warning));
  }
  return field("not used", cache.problem) + field("to do",
                                                  "docs/kernels.md says where it is; without it kernels are "
                                                  "compiled anew each time");
}

struct Report {
  Environment environment;
  Json engines;      ///< the result of examine_engines()
  Json compilers;    ///< the result of examine_compilers()
  Json layers;       ///< the result of examine_layers()
  Json annotations;  ///< the result of examine_listeners()
  KernelCacheState kernel_cache;
  std::vector<Finding> findings;
  std::vector<std::string> missing;
  Probe automatic;  ///< the probe of the place `auto`
  bool any_device = false;
};

std::string report_text(const Report& report) {
  std::string text = environment_text(report.environment) + heading("plugins");
  for (const Finding& finding : report.findings) text += finding_text(finding);
  for (const std::string& name : report.missing) text += "  " + name + ": no plugin is installed\n";
  text += heading("engines of communicators") + engines_text(report.engines);
  text += heading("compilers of kernels") + compilers_text(report.compilers);
  text += heading("cache of compiled kernels") + kernel_cache_text(report.kernel_cache);
  text += heading("layers") + layers_text(report.layers);
  text += heading("listeners of annotations") + listeners_text(report.annotations);
  text += heading("result");
  if (report.automatic.place.empty() && !report.automatic.problems.empty()) {
    const Problem& problem = report.automatic.problems.front();
    text += field("auto", problem.code + ": " + problem.text);
  } else {
    text += field("auto", report.automatic.place);
  }
  std::size_t devices = 0;
  for (const Finding& finding : report.findings) {
    if (finding.state == "accepted") devices += finding.probe.devices.size();
  }
  return text + field("devices", devices == 0 ? "none can be used" : std::to_string(devices) + " can be used");
}

Json report_json(const Report& report) {
  const Environment& environment = report.environment;
  Json json{{"version", version_json()},
            {"library", text_or_null(environment.library)},
            {"raised_privileges", environment.raised_privileges}};
  Json& variables = json["variables"] = Json::array();
  for (const Variable& variable : environment.variables) {
    variables.push_back(
        Json{{"name", variable.name}, {"value", variable.value}, {"meaning", text_or_null(variable.meaning)}});
  }
  Json& directories = json["directories"] = Json::array();
  for (const PluginDirectory& directory : environment.directories) {
    directories.push_back(
        Json{{"path", directory.path}, {"source", to_string(directory.source)}, {"there", directory.is_there}});
  }
  Json& problems = json["directory_problems"] = Json::array();
  for (const PluginDirectoryProblem& problem : plugin_directory_problems()) {
    problems.push_back(Json{{"directory", problem.directory}, {"reason", problem.reason}});
  }
  Json& aliases = json["aliases"] = Json::array();
  for (const BackendAlias& alias : backend_aliases()) {
    aliases.push_back(Json{{"alias", std::string(alias.alias)}, {"backend", std::string(alias.backend)}});
  }
  Json& plugins = json["plugins"] = Json::array();
  for (const Finding& finding : report.findings) plugins.push_back(finding_json(finding));
  json["missing"] = report.missing;
  json["engines"] = report.engines.at("engines");
  json["engines_problem"] = report.engines.at("problem");
  json["compilers"] = report.compilers.at("compilers");
  json["compilers_for"] = report.compilers.at("for");
  json["compilers_problem"] = report.compilers.at("problem");
  json["kernel_cache"] = Json{{"folder", text_or_null(report.kernel_cache.folder)},
                              {"problem", text_or_null(report.kernel_cache.problem)},
                              {"warning", text_or_null(report.kernel_cache.warning)}};
  json["layers"] = report.layers.at("layers");
  json["layers_on"] = report.layers.at("on");
  json["layers_problem"] = report.layers.at("problem");
  json["annotations"] = report.annotations;
  Json& automatic = json["auto"] = Json{{"place", text_or_null(report.automatic.place)}, {"problem", nullptr}};
  if (!report.automatic.problems.empty()) automatic["problem"] = problem_json("", report.automatic.problems.front());
  json["any_device"] = report.any_device;
  return json;
}

}  // namespace

Answer run_doctor(const Options& options) {
  Report report;
  const std::vector<std::string> names = backend_names();
  report.environment = read_environment(names);
  report.findings = examine(plugin_candidates(), options.probe_timeout);
  report.missing = missing_backends(names);
  // This comes before anything starts threads in this process, because a fork would leave them behind.
  report.annotations = examine_listeners(options.probe_timeout);
  report.engines = examine_engines(options.probe_timeout);
  report.compilers = examine_compilers(options.probe_timeout);
  report.kernel_cache = {kernel_cache::folder(), kernel_cache::problem(), kernel_cache::warning()};
  report.layers = examine_layers(names, options.probe_timeout);
  report.automatic = probe_place("auto", options.probe_timeout);
  report.any_device = std::any_of(report.findings.begin(), report.findings.end(), usable);
  const int status = report.any_device ? exit_ok : exit_failed;
  return {options.json ? dump(report_json(report)) : report_text(report), "", status};
}

}  // namespace anyplace::tool
