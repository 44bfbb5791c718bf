// SPDX-License-Identifier: Apache-2.0
#include "ranks/engine_plugins.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <optional>

#include "ranks/engine_table.h"
#include "runtime/exit.h"
#include "runtime/no_destructor.h"

namespace anyplace::detail {
namespace {

void host_ended(void* context, const char* text) {
  if (const auto ended = engine_ended.load(std::memory_order_acquire)) {
    ended(static_cast<const Engine&>(*static_cast<const LoadedPlugin*>(context)), text);
  }
}

std::optional<Refusal> load(Engine& engine) {
  LoadedPlugin* const context = &engine;
  engine.host = {sizeof(engine.host),
                 ANYPLACE_ENGINE_ABI_MAJOR,
                 ANYPLACE_ENGINE_ABI_MINOR,
                 0,
                 context,
                 plugin_leave_message,
                 plugin_log,
                 host_ended};
  if (std::optional<Refusal> refusal =
          fill_plugin<anyplace_engine_entry_function>(engine, ANYPLACE_ENGINE_ENTRY_SYMBOL, engine_table_problem)) {
    return refusal;
  }
  engine.backends = separate_words(engine.table.backends);
  engine.serves_others = std::erase(engine.backends, "*") != 0;
  engine.launcher_variables = separate_words(engine.table.launcher_variables);
  // As with a backend, this handler runs before the destructors that the plugin has registered by now.
  if (std::atexit(shut_down_at_exit) != 0) throw std::bad_alloc();
  return std::nullopt;
}
NoDestructor<LoadedPlugins<Engine>> plugins(load);

}  // namespace

constinit std::atomic<void (*)(const Engine& engine, const char* text) noexcept> engine_ended{nullptr};

bool Engine::names(std::string_view backend) const noexcept {
  return std::find(backends.begin(), backends.end(), backend) != backends.end();
}

std::vector<Candidate<Engine>> engine_candidates() {
  auto all = plugins.value.candidates(list_plugins(PluginKind::engine).files);
  std::stable_partition(all.begin(), all.end(), [](const auto& candidate) {
    return candidate.plugin == nullptr || !candidate.plugin->serves_others;
  });
  return all;
}

std::vector<const Engine*> engines() {
  std::vector<const Engine*> accepted;
  for (const auto& candidate : engine_candidates()) {
    if (candidate.plugin != nullptr) accepted.push_back(candidate.plugin);
  }
  return accepted;
}

const Engine* engine_for_others() {
  for (const Engine* const engine : engines()) {
    if (engine->serves_others) return engine;
  }
  return nullptr;
}

}  // namespace anyplace::detail
