// SPDX-License-Identifier: Apache-2.0
#include "ranks/engines.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "plugins/plugin_search.h"
#include "ranks/engine_error.h"
#include "ranks/host_group.h"
#include "ranks/lone_group.h"
#include "ranks/stream_group.h"
#include "runtime/call.h"
#include "runtime/text.h"

namespace anyplace {
namespace detail {
namespace {

/// Joins the names to "a, b and c", with `word` in the place of "and".
std::string listed(const std::vector<std::string>& names, const char* word) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != 0) text += i + 1 == names.size() ? fmt::format(" {} ", word) : ", ";
    text += names[i];
  }
  return text;
}

/// Returns the first engine that names the backend, else the first that serves those that none names; null if there is
/// neither.
const Engine* engine_of(const std::vector<const Engine*>& all, const std::string& backend) {
  for (const Engine* const engine : all) {
    if (engine->names(backend)) return engine;
  }
  const auto other = std::find_if(all.begin(), all.end(), [](const Engine* engine) { return engine->serves_others; });
  return other == all.end() ? nullptr : *other;
}

[[noreturn]] void refuse_backend(const std::vector<const Engine*>& all, const Engine& asked, const DeviceState& device,
                                 const char* operation) {
  std::vector<std::string> instead;
  for (const Engine* const engine : all) {
    if (engine->names(device.backend->name) || engine->serves_others) instead.push_back(engine->name);
  }
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("the engine {} is for {} alone\nuse {}, or leave the engine's name empty\nsee docs/ranks.md",
                   asked.name, listed(asked.backends, "and"),
                   instead.empty() ? "a device of that" : listed(instead, "or")));
}

[[noreturn]] void refuse_name(const DeviceState& device, const std::string& name, const char* operation) {
  std::vector<std::string> names;
  for (const auto& candidate : engine_candidates()) {
    if (candidate.plugin != nullptr) names.push_back(candidate.plugin->name);
    if (candidate.plugin != nullptr || candidate.file.name != name) continue;
    fail(ErrorCode::plugin_refused, device.place, operation,
         fmt::format("the engine {} was found and can't be used: {}: {}\n{}\n`anyplace doctor` lists the engines", name,
                     candidate.file.path, candidate.refusal.reason, candidate.refusal.remedy));
  }
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("there is no engine {}{}\nengines are {}\n`anyplace doctor` lists them", in_quotes(name),
                   not_searched(), listed(names, "and")));
}

/// Returns the engine with that name or, if `name` is empty, the engine of the device's backend. Throws if there is
/// none, or if it can't serve the device.
const Engine& chosen_engine(const DeviceState& device, const std::string& name, const char* operation) {
  const std::vector<const Engine*> all = engines();
  const std::string& backend = device.backend->name;
  if (name.empty()) {
    if (const Engine* const engine = engine_of(all, backend)) return *engine;
    fail(
        ErrorCode::library_missing, device.place, operation,
        fmt::format("there is no engine for {}{}\ninstall the plugin of one, libanyplace_engine_<name>.so, or name its "
                    "folder in ANYPLACE_BACKEND_PATH\n`anyplace doctor` lists the engines",
                    backend, not_searched()));
  }
  for (const Engine* const engine : all) {
    if (engine->name != name) continue;
    if (engine->serves_others || engine->names(backend)) return *engine;
    refuse_backend(all, *engine, device, operation);
  }
  refuse_name(device, name, operation);
}

CommunicatorEngine listing(const Candidate<Engine>& candidate) {
  CommunicatorEngine listed;
  listed.name = candidate.file.name;
  listed.plugin = candidate.file.path;
  if (candidate.plugin == nullptr) {
    listed.reason = candidate.refusal.reason;
    if (!candidate.refusal.remedy.empty()) listed.reason += "; " + candidate.refusal.remedy;
    return listed;
  }
  const Engine& engine = *candidate.plugin;
  for (const std::string& backend : engine.backends) listed.serves += (listed.serves.empty() ? "" : ", ") + backend;
  if (engine.serves_others) {
    listed.serves +=
        listed.serves.empty() ? "every backend without an engine" : ", and every backend without an engine";
  }
  listed.library = engine.table.library_file;
  anyplace_engine_library library{};
  listed.usable = open_library(engine, library, listed.reason);
  if (!listed.usable) return listed;
  if (library.path != nullptr) listed.library = std::string(bounded(library.path));
  if (library.version != nullptr) listed.version = one_line(bounded(library.version));
  return listed;
}

}  // namespace

anyplace_engine_device crossing_device(DeviceState& device) {
  anyplace_engine_device crossing{};
  crossing.struct_size = sizeof(crossing);
  crossing.index = device.index;
  crossing.backend = device.backend->name.c_str();
  if (device.table->device_native == nullptr) return crossing;
  const anyplace_status status =
      device.table->device_native(device.self, device.index, ANYPLACE_NATIVE_CONTEXT, &crossing.native_context);
  if (status == ANYPLACE_STATUS_UNSUPPORTED) {
    take_message();
  } else {
    check(status, device, "Communicator");
  }
  return crossing;
}

MadeGroup make_group(DeviceState& device, const BootstrapPlan& asked, const CommunicatorOptions& options,
                     const char* operation) {
  const bool is_named = !options.engine.empty();
  const Engine* engine = is_named ? &chosen_engine(device, options.engine, operation) : nullptr;
  if (options.timeout <= std::chrono::nanoseconds(0)) {
    fail(ErrorCode::invalid_argument, device.place, operation, "the timeout isn't more than 0");
  }
  const BootstrapPlan plan = decide(asked, device.place, operation);
  if (plan.kind != BootstrapPlan::Kind::launcher && plan.size == 1 && !is_named) {
    return {make_lone_group(device, options.timeout)};
  }
  if (engine == nullptr) engine = &chosen_engine(device, "", operation);
  if (engine->is_on_host()) {
    return {make_host_group(*engine, device, plan, options.timeout, operation), engine->name};
  }
  return {make_stream_group(*engine, device, plan, options.timeout, operation), engine->name};
}

}  // namespace detail

std::vector<CommunicatorEngine> communicator_engines() {
  detail::enter("communicator_engines");
  std::vector<CommunicatorEngine> engines;
  for (const auto& candidate : detail::engine_candidates()) {
    engines.push_back(detail::listing(candidate));
  }
  return engines;
}

}  // namespace anyplace
