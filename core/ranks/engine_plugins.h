// SPDX-License-Identifier: Apache-2.0
//
// Which engines of communicators there are, and why a file was refused. Their plugins are found and checked as
// backends' are (plugins/registry.h), but all at once: which of them serves a backend only they know. That opens no
// vendor's library.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "anyplace/backend/engine.h"
#include "plugins/plugin_open.h"
#include "plugins/plugin_search.h"

namespace anyplace::detail {

/// An engine whose plugin was accepted. Never destroyed.
struct Engine {
  std::string name;
  std::string path;                   ///< of its plugin
  std::vector<std::string> backends;  ///< that it names
  bool serves_others = false;         ///< it is chosen for backends that no other engine names
  std::vector<std::string> launcher_variables;
  anyplace_engine_host host{};
  anyplace_engine_table table{};

  bool names(std::string_view backend) const noexcept;
  bool is_on_host() const noexcept { return table.kind == ANYPLACE_ENGINE_ON_HOST; }
  bool has_world() const noexcept { return table.begin != nullptr; }
};

/// What an engine calls as anyplace_engine_host::ended. Set by host_runtime.cpp, before an engine can call it.
extern std::atomic<void (*)(const Engine& engine, const char* text) noexcept> engine_ended;

/// A plugin's file, and what became of it.
struct EngineCandidate {
  PluginFile file;
  const Engine* engine = nullptr;  ///< null: it is refused, or shadowed by another file of its name
  Refusal refusal = {};
};

/// All files, in the order in which engines are chosen: those that name all backends that they serve come before the
/// others, else the order of the search. Loads what isn't loaded; an engine that was accepted once stays the one of its
/// name. Throws shortages (runtime/shortage.h), after which the next call goes on.
std::vector<EngineCandidate> engine_candidates();

/// The accepted ones of them.
std::vector<const Engine*> engines();
/// The engine that takes what another one doesn't, since it serves every backend; null if there is none.
const Engine* engine_for_others();

}  // namespace anyplace::detail
