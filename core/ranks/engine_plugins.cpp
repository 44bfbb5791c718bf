// SPDX-License-Identifier: Apache-2.0
#include "ranks/engine_plugins.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "ranks/engine_table.h"
#include "runtime/call.h"
#include "runtime/exit.h"
#include "runtime/no_destructor.h"
#include "runtime/process.h"
#include "runtime/switch_variable.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

struct Loaded {
  /// It is kept even if the plugin is refused, because the plugin may have stored the host's address.
  std::unique_ptr<Engine> engine = std::make_unique<Engine>();
  std::optional<Refusal> refusal;
  bool is_done = false;  ///< false after a shortage; the next call then loads the plugin again
};
struct Plugins {
  std::mutex mutex;  // guards what follows; plugins are loaded under it
  std::map<std::string, Loaded> by_path;
  std::map<std::string, const Engine*> accepted;  ///< by name
};
NoDestructor<Plugins> plugins;

void host_leave_message(void* /*context*/, std::int64_t code, const char* vendor_name, const char* text) {
  leave_message(code, vendor_name, text);
}

void host_log(void* context, std::uint32_t level, const char* text) {
  if (!log_wanted()) return;
  try {
    const std::string line = fmt::format("anyplace: {}: {}: {}\n", static_cast<const Engine*>(context)->name,
                                         level == ANYPLACE_LOG_WARNING ? "warning" : "info", one_line(bounded(text)));
    std::fwrite(line.data(), 1, line.size(), stderr);
  } catch (...) {  // without memory the line is dropped
  }
}

void host_ended(void* context, const char* text) {
  if (const auto ended = engine_ended.load(std::memory_order_acquire)) {
    ended(*static_cast<const Engine*>(context), text);
  }
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> found;
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    if (blank != 0) found.emplace_back(text.substr(0, blank));
    text.remove_prefix(std::min(blank + 1, text.size()));
  }
  return found;
}

std::optional<Refusal> load(Engine& engine) {
  // As in load_plugin(), the plugin may not call anyplace.
  const CallbackScope scope;
  const OpenedFile opened = open_plugin(engine.path, engine.name, &engine);
  if (opened.handle == nullptr) return opened.refusal;
  void* const symbol = ::dlsym(opened.handle, ANYPLACE_ENGINE_ENTRY_SYMBOL);
  if (symbol == nullptr) return lacks_symbol(ANYPLACE_ENGINE_ENTRY_SYMBOL);
  GuardedTable<anyplace_engine_table> filled;
  take_message();
  if (std::optional<Refusal> refusal = fill_table(reinterpret_cast<anyplace_engine_entry_function>(symbol), engine.host,
                                                  filled, engine.name, ANYPLACE_ENGINE_ENTRY_SYMBOL)) {
    return refusal;
  }
  const std::uint32_t room = sizeof(filled.table);
  if (std::string problem = engine_table_problem(filled.table, room, engine.name); !problem.empty()) {
    return Refusal{ErrorCode::plugin_refused, std::move(problem)};
  }
  // Entries beyond the plugin's struct_size stay null, whatever it wrote there.
  std::memcpy(&engine.table, &filled.table, filled.table.struct_size);
  engine.backends = words(engine.table.backends);
  engine.serves_others = std::erase(engine.backends, "*") != 0;
  engine.launcher_variables = words(engine.table.launcher_variables);
  // As with a backend, this handler runs before the destructors that the plugin has registered by now.
  if (std::atexit(shut_down_at_exit) != 0) throw std::bad_alloc();
  return std::nullopt;
}

const Loaded& loaded(const PluginFile& file) {
  Loaded& one = plugins.value.by_path[file.path];
  if (one.is_done) return one;
  Engine& engine = *one.engine;
  engine.name = file.name;
  engine.path = file.path;
  engine.host = {sizeof(engine.host),
                 ANYPLACE_ENGINE_ABI_MAJOR,
                 ANYPLACE_ENGINE_ABI_MINOR,
                 0,
                 &engine,
                 host_leave_message,
                 host_log,
                 host_ended};
  one.refusal = load(engine);
  one.is_done = true;
  if (!one.refusal) plugins.value.accepted.emplace(engine.name, &engine);
  return one;
}

}  // namespace

constinit std::atomic<void (*)(const Engine& engine, const char* text) noexcept> engine_ended{nullptr};

bool Engine::names(std::string_view backend) const noexcept {
  return std::find(backends.begin(), backends.end(), backend) != backends.end();
}

std::vector<EngineCandidate> engine_candidates() {
  const LoadingScope loading;  // the lock may be held for long
  const std::lock_guard lock(plugins.value.mutex);
  std::vector<EngineCandidate> all;
  for (const PluginFile& file : list_plugins(PluginKind::engine).files) {
    EngineCandidate& candidate = all.emplace_back(EngineCandidate{file});
    const auto accepted = plugins.value.accepted.find(file.name);
    if (accepted != plugins.value.accepted.end() && accepted->second->path != file.path) {
      candidate.refusal.reason = accepted->second->path + " comes first";
      continue;
    }
    const Loaded& one = loaded(file);
    candidate.engine = one.refusal ? nullptr : one.engine.get();
    if (one.refusal) candidate.refusal = *one.refusal;
  }
  std::stable_partition(all.begin(), all.end(), [](const EngineCandidate& candidate) {
    return candidate.engine == nullptr || !candidate.engine->serves_others;
  });
  return all;
}

std::vector<const Engine*> engines() {
  std::vector<const Engine*> accepted;
  for (const EngineCandidate& candidate : engine_candidates()) {
    if (candidate.engine != nullptr) accepted.push_back(candidate.engine);
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
