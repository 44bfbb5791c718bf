// SPDX-License-Identifier: Apache-2.0
#include "plugins/not_found.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "anyplace/plugins.h"
#include "anyplace/version.h"
#include "plugins/names.h"
#include "plugins/plugin_search.h"
#include "plugins/registry.h"
#include "runtime/call.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

/// The most items that a list in a message has: 4096 devices would be no help.
constexpr std::size_t list_limit = 64;

/// Every refused file of the name: "/path/libanyplace_backend_x.so: reason (code); ...".
std::string refusals(const std::vector<PluginCandidate>& all, std::string_view name) {
  std::string text;
  for (const PluginCandidate& candidate : all) {
    if (candidate.name != name || candidate.state != PluginCandidate::State::refused) continue;
    text += fmt::format("{}{}: {} ({})", text.empty() ? "" : "; ", candidate.path, candidate.problem(),
                        to_string(candidate.code));
  }
  return text;
}

/// The remedies that the refused plugins of this name gave.
std::string remedies(const std::vector<PluginCandidate>& all, std::string_view name) {
  std::string text;
  for (const PluginCandidate& candidate : all) {
    if (candidate.name != name || candidate.state != PluginCandidate::State::refused) continue;
    if (candidate.remedy.empty() || text.find(candidate.remedy) != std::string::npos) continue;
    text += (text.empty() ? "" : "; ") + candidate.remedy;
  }
  return text;
}

/// The plugin files of other backends: "other backends found (by file name, unopened): libanyplace_backend_cuda.so; ".
/// Empty if there is none.
std::string others(const std::vector<PluginCandidate>& all, std::string_view name) {
  std::set<std::string> names;
  for (const PluginCandidate& candidate : all) {
    if (candidate.name != name) names.insert(candidate.name);
  }
  if (names.empty()) return "";
  std::string text = "other backends found (by file name, unopened):";
  std::size_t listed = 0;
  for (const std::string& other : names) {
    if (++listed > list_limit) return text + ", ...; ";
    text += (listed == 1 ? " " : ", ") + plugin_file_name(other);
  }
  return text + "; ";
}

/// The plugins of the name that other versions of anyplace have: "/usr/lib/anyplace-0.2/libanyplace_backend_cuda.so is
/// another version's; this is anyplace 0.1.0, whose plugins are in folders named anyplace-0.1; ". Empty if there is
/// none.
std::string of_other_versions(std::string_view name) {
  std::string text;
  for (const std::string& path : plugins_of_other_versions(name)) text += (text.empty() ? "" : ", ") + path;
  if (text.empty()) return text;
  return fmt::format("{} is another version's; this is anyplace {}, whose plugins are in folders named {}; ", text,
                     version(), plugin_folder_name);
}

/// The directories that were searched, ", " between them; empty if there was none.
std::string searched() {
  std::string text;
  for (const SearchDirectory& directory : search_path().directories) {
    if (directory.is_there) text += (text.empty() ? "" : ", ") + directory.path;
  }
  return text;
}

/// "no libanyplace_backend_x.so is in /a, /b", or that there was nowhere to look.
std::string nowhere(const std::string& file) {
  const std::string folders = searched();
  if (folders.empty()) return fmt::format("{} was looked for nowhere: there is no directory to search", file);
  return fmt::format("no {} is in {}", file, folders);
}

std::string device_list(Backend& backend) {
  if (backend.devices.empty()) {
    return fmt::format("the backend {} has no device here", backend.name);
  }
  std::string text = fmt::format("the backend {} has {} device{}:", backend.name, backend.devices.size(),
                                 backend.devices.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < backend.devices.size(); ++i) {
    if (i == list_limit) return text + fmt::format(", ... {}", backend.devices.back()->place);
    text += (i == 0 ? " " : ", ") + backend.devices[i]->place;
  }
  return text;
}

/// Whether the plugin that was found is good and only its devices are missing: then the error is no_such_device.
bool lacks_only_devices(const std::vector<PluginCandidate>& all, std::string_view name) {
  bool lacks = false;
  for (const PluginCandidate& candidate : all) {
    if (candidate.name != name || candidate.state != PluginCandidate::State::refused) continue;
    if (candidate.code != ErrorCode::no_such_device) return false;
    lacks = true;
  }
  return lacks;
}

constexpr std::string_view doctor = "`anyplace doctor` tells what is wrong with each plugin";

[[noreturn]] void fail_in_parts(ErrorCode code, std::string place, const char* operation, std::string problem,
                                std::string remedy, std::string see) {
  ErrorDetails details;
  details.code = code;
  details.place = std::move(place);
  details.operation = operation;
  details.text = std::move(problem);
  details.remedy = std::move(remedy);
  details.see = std::move(see);
  throw Error(std::move(details));
}

}  // namespace

void fail_bad_name(std::string_view name, const std::string& problem, const char* operation) {
  fail_in_parts(
      ErrorCode::invalid_argument, in_quotes(name), operation,
      fmt::format("{} is no backend's name: {}", in_quotes(name), problem),
      fmt::format("a name is [a-z][a-z0-9_]*, {} characters at most, like cuda; {}", name_limit, suggestion(name)),
      "`anyplace doctor` lists the backends of this machine");
}

void fail_no_backend(const std::string& place, const std::string& asked, const std::string& name,
                     const char* operation) {
  const std::vector<PluginCandidate> all = candidates();
  const std::string alias = asked == name ? "" : fmt::format(" (an alias of {})", name);
  const std::string refused = refusals(all, name);
  const ErrorCode code = lacks_only_devices(all, name) ? ErrorCode::no_such_device : ErrorCode::no_such_backend;
  if (!refused.empty()) {
    fail_in_parts(code, place, operation,
                  fmt::format("the backend {}{} was found and can't be used: {}", asked, alias, refused),
                  remedies(all, name), others(all, name) + std::string(doctor));
  }
  const auto planned = planned_names();
  const bool is_known = std::find(planned.begin(), planned.end(), name) != planned.end();
  fail_in_parts(
      code, place, operation, fmt::format("there is no backend {}{}", asked, alias),
      is_known ? "install its plugin, or name the plugin's directory in ANYPLACE_BACKEND_PATH" : suggestion(asked),
      fmt::format("{}{}; {}{}{}", nowhere(plugin_file_name(name)), not_searched(), of_other_versions(name),
                  others(all, name), doctor));
}

void fail_no_automatic(const std::vector<std::string>& order, const char* operation) {
  const std::vector<PluginCandidate> all = candidates();
  std::string text = "no backend of ANYPLACE_AUTO has a device; in its order: ";
  std::string remedy;
  const char* separator = "";
  for (const std::string& name : order) {
    const std::string refused = refusals(all, name);
    text += fmt::format("{}{}: ", separator, name);
    separator = "; ";
    if (loaded_backend(name) != nullptr) {
      text += "it has no device";
    } else {
      text += refused.empty() ? "no " + plugin_file_name(name) : refused;
    }
    const std::string more = remedies(all, name);
    if (!more.empty()) remedy += (remedy.empty() ? "" : "; ") + more;
  }
  const std::string folders = searched();
  fail_in_parts(
      ErrorCode::no_such_device, std::string(automatic_name), operation, std::move(text), std::move(remedy),
      fmt::format("{}{}; {}", folders.empty() ? "there is no directory to search" : "searched were " + folders,
                  not_searched(), doctor));
}

void fail_no_device(const Place& place, Backend& backend, const std::string& note, const char* operation) {
  std::string there = device_list(backend);
  if (!note.empty()) there += "; " + note;
  if (!backend.hidden_note.empty()) there += "; " + backend.hidden_note;
  fail_in_parts(ErrorCode::no_such_device, place.to_string(), operation,
                fmt::format("there is no device {}", place.to_string()), std::move(there),
                others(candidates(), backend.name) + "`anyplace devices` lists the devices of all backends");
}

}  // namespace anyplace::detail
