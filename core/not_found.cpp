// SPDX-License-Identifier: Apache-2.0
#include "not_found.h"

#include <fmt/format.h>

#include <set>

#include "anyplace/plugins.h"
#include "call.h"
#include "names.h"
#include "plugin_search.h"
#include "registry.h"
#include "text.h"

namespace anyplace::detail {
namespace {

/// Lists in a message end here: 4096 devices would be no help.
constexpr std::size_t list_limit = 64;

/// "; refused was /path/libanyplace_backend_x.so: reason", for every refused file of the name.
std::string refusals(const std::vector<PluginCandidate>& all, std::string_view name) {
  std::string text;
  for (const PluginCandidate& candidate : all) {
    if (candidate.name != name || candidate.state != PluginCandidate::State::refused) continue;
    text +=
        fmt::format("; found but refused: {}: {} ({})", candidate.path, candidate.reason, to_string(candidate.code));
  }
  return text;
}

/// "; other backends here, not opened: libanyplace_backend_cuda.so", by file name.
std::string others(const std::vector<PluginCandidate>& all, std::string_view name) {
  std::set<std::string> names;
  for (const PluginCandidate& candidate : all) {
    if (candidate.name != name) names.insert(candidate.name);
  }
  if (names.empty()) return "";
  std::string text = "; other backends found (by file name, unopened):";
  std::size_t listed = 0;
  for (const std::string& other : names) {
    if (++listed > list_limit) return text + ", ...";
    text += (listed == 1 ? " " : ", ") + plugin_file_name(other);
  }
  return text;
}

std::string searched() {
  std::string text;
  for (const SearchDirectory& directory : search_path().directories) {
    if (directory.is_there) text += (text.empty() ? "" : ", ") + directory.path;
  }
  return text.empty() ? "no directory" : text;
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

/// Whether the plugin that was found is fit, and only its devices aren't there: then what is missing is the device.
bool lacks_only_devices(const std::vector<PluginCandidate>& all, std::string_view name) {
  bool lacks = false;
  for (const PluginCandidate& candidate : all) {
    if (candidate.name != name || candidate.state != PluginCandidate::State::refused) continue;
    if (candidate.code != ErrorCode::no_such_device) return false;
    lacks = true;
  }
  return lacks;
}

/// "; not searched: build: ANYPLACE_BACKEND_PATH takes absolute ...": what the variable names and can't be searched.
std::string passed_over() {
  std::string text;
  for (const PluginDirectoryProblem& problem : search_path().problems) {
    text += fmt::format("; not searched: {}: {}", problem.directory, problem.reason);
  }
  return text;
}

constexpr std::string_view advice = "; `anyplace doctor` tells what is wrong with each plugin";

}  // namespace

void fail_bad_name(std::string_view name, const std::string& problem, const char* operation) {
  fail(ErrorCode::invalid_argument, quoted(name), operation,
       fmt::format("{} is no backend's name: {}; a name is [a-z][a-z0-9_]*, {} characters at most, like cuda; {}",
                   quoted(name), problem, name_limit, suggestion(name)));
}

void fail_no_backend(const std::string& place, const std::string& asked, const std::string& name,
                     const char* operation) {
  const std::vector<PluginCandidate> all = candidates();
  std::string text = fmt::format("there is no usable backend {}", asked);
  if (asked != name) text += fmt::format(" (an alias of {})", name);
  std::string meant;
  const std::string refused = refusals(all, name);
  if (!refused.empty()) {
    text += refused;
  } else {
    text += fmt::format(": no {} in {}", plugin_file_name(name), searched());
    text += passed_over();
    bool is_known = false;
    for (const std::string_view known : planned_names()) is_known = is_known || known == name;
    if (is_known) {
      text += "; install its plugin or name the directory in ANYPLACE_BACKEND_PATH";
    } else {
      meant = "; " + suggestion(asked);
    }
  }
  const ErrorCode code = lacks_only_devices(all, name) ? ErrorCode::no_such_device : ErrorCode::no_such_backend;
  fail(code, place, operation, text + others(all, name) + std::string(advice) + meant);
}

void fail_no_automatic(const std::vector<std::string>& order, const char* operation) {
  const std::vector<PluginCandidate> all = candidates();
  std::string text = "no backend of ANYPLACE_AUTO has a device; in its order:";
  for (const std::string& name : order) {
    const std::string refused = refusals(all, name);
    text += fmt::format(" {}: ", name);
    if (loaded_backend(name) != nullptr) {
      text += "it has no device";
    } else if (!refused.empty()) {
      text += refused.substr(2);
    } else {
      text += "no " + plugin_file_name(name);
    }
    text += ";";
  }
  text += fmt::format(" searched were {}{}", searched(), passed_over());
  fail(ErrorCode::no_such_device, std::string(automatic_name), operation, text + std::string(advice));
}

void fail_no_device(const Place& place, Backend& backend, const std::string& note, const char* operation) {
  std::string text = fmt::format("{} is not there: {}", place.to_string(), device_list(backend));
  if (!note.empty()) text += "; " + note;
  fail(ErrorCode::no_such_device, place.to_string(), operation, text + others(candidates(), backend.name));
}

}  // namespace anyplace::detail
