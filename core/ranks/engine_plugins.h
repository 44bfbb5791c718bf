// SPDX-License-Identifier: Apache-2.0
//
// Finds the plugins of engines, and remembers why a file was refused. They are found and checked as backends' are
// (plugins/registry.h), but all at once, because only a plugin's table tells which backends it serves. Loading them
// opens no vendor's library.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "anyplace/backend/engine.h"
#include "plugins/loaded_plugins.h"

namespace anyplace::detail {

/// An engine whose plugin was accepted. Never destroyed.
struct Engine : LoadedPlugin {
  std::vector<std::string> backends;  ///< the backends that its table names
  bool serves_others = false;         ///< it is chosen for backends that no other engine names
  std::vector<std::string> launcher_variables;
  anyplace_engine_host host{};
  anyplace_engine_table table{};

  bool names(std::string_view backend) const noexcept;
  bool is_on_host() const noexcept { return table.kind == ANYPLACE_ENGINE_ON_HOST; }
  bool has_world() const noexcept { return table.begin != nullptr; }
};

/// The function that anyplace_engine_host::ended calls. host_runtime.cpp sets it before an engine can call it.
extern std::atomic<void (*)(const Engine& engine, const char* text) noexcept> engine_ended;

/// Returns what became of all files, in the order in which engines are chosen. The engines that name all backends that
/// they serve come before those that serve "*"; otherwise the order of the search is kept. Loads the plugins that
/// aren't loaded yet. Once an engine was accepted, no other file of its name is. Throws shortages (runtime/shortage.h);
/// the next call then loads what is left.
std::vector<Candidate<Engine>> engine_candidates();

/// Returns the accepted engines, in the order of engine_candidates().
std::vector<const Engine*> engines();
/// Returns the first engine that serves every backend, which errors propose for what another engine can't do. Returns
/// null if there is none.
const Engine* engine_for_others();

}  // namespace anyplace::detail
