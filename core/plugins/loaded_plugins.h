// SPDX-License-Identifier: Apache-2.0
//
// The plugins that aren't backends: engines, compilers and layers. Each file is loaded once, and of the files of a name
// the first good one is accepted for the life of the process. A kind of plugin adds what its host offers and how its
// table is checked. registry.h does the same for backends, whose devices have to be made, too.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/plugin_open.h"
#include "plugins/plugin_search.h"
#include "runtime/call.h"
#include "runtime/exit.h"

namespace anyplace::detail {

/// What a plugin of every kind has. The plugins of a kind derive from it, and have a `host` and a `table`.
struct LoadedPlugin {
  std::string name;
  std::string path;  ///< where its file is
};

/// The functions of a host of these names. Their context is a LoadedPlugin.
void plugin_leave_message(void* context, std::int64_t vendor_code, const char* vendor_name, const char* text);
void plugin_log(void* context, std::uint32_t level, const char* text);

/// The words of a text with blanks between them, as tables have them.
std::vector<std::string> separate_words(std::string_view text);

/// A plugin's file, and what became of it.
template <class Plugin>
struct Candidate {
  PluginFile file;
  const Plugin* plugin = nullptr;  ///< null: it is refused, or shadowed by another file of its name
  Refusal refusal = {};
};

/// Opens the plugin's file and has the entry of that symbol fill its table. `problem` says why a filled table can't be
/// used, and "" if it can. Returns none if the table is good.
template <class Entry, class Plugin, class Table>
std::optional<Refusal> fill_plugin(Plugin& plugin, const char* symbol,
                                   std::string (*problem)(const Table& table, std::uint32_t room,
                                                          std::string_view name)) {
  const CallbackScope scope;  // the plugin may not call anyplace
  const OpenedFile opened = open_plugin(plugin.path, plugin.name, &plugin);
  if (opened.handle == nullptr) return opened.refusal;
  void* const entry = ::dlsym(opened.handle, symbol);
  if (entry == nullptr) return lacks_symbol(symbol);
  GuardedTable<Table> filled;
  take_message();
  if (std::optional<Refusal> refusal =
          fill_table(reinterpret_cast<Entry>(entry), plugin.host, filled, plugin.name, symbol)) {
    return refusal;
  }
  if (std::string reason = problem(filled.table, sizeof(filled.table), plugin.name); !reason.empty()) {
    return Refusal{ErrorCode::plugin_refused, std::move(reason)};
  }
  // Entries beyond the plugin's struct_size stay null, whatever it wrote there.
  std::memcpy(&plugin.table, &filled.table, filled.table.struct_size);
  return std::nullopt;
}

/// The plugins of a kind. Every member may be called from any thread.
template <class Plugin>
class LoadedPlugins {
 public:
  /// Loads a plugin whose name and path are set. Returns why it is refused, or none.
  using Load = std::optional<Refusal> (*)(Plugin& plugin);

  explicit LoadedPlugins(Load how) noexcept : load_(how) {}

  /// What became of each file, in the order of `files`. Loads the plugins that aren't loaded yet; once one was
  /// accepted, no other file of its name is opened. Throws shortages (runtime/shortage.h); the next call then loads
  /// what is left.
  std::vector<Candidate<Plugin>> candidates(const std::vector<PluginFile>& files) {
    const LoadingScope loading;  // the lock may be held for long
    const std::lock_guard lock(mutex_);
    std::vector<Candidate<Plugin>> all;
    for (const PluginFile& file : files) all.push_back(candidate(file));
    return all;
  }

  /// The plugin of that name that was accepted; null if none was by now.
  const Plugin* accepted(std::string_view name) {
    const LoadingScope loading;
    const std::lock_guard lock(mutex_);
    const auto found = accepted_.find(name);
    return found == accepted_.end() ? nullptr : found->second;
  }

 private:
  struct File {
    /// It is kept even if the plugin is refused, because the plugin may have stored the host's address.
    std::unique_ptr<Plugin> plugin = std::make_unique<Plugin>();
    std::optional<Refusal> refusal;
    bool is_done = false;  ///< false after a shortage; the next call then loads the plugin again
  };

  Candidate<Plugin> candidate(const PluginFile& file) {
    Candidate<Plugin> made{file};
    const auto accepted = accepted_.find(file.name);
    if (accepted != accepted_.end() && accepted->second->path != file.path) {
      made.refusal.reason = accepted->second->path + " comes first";
      return made;
    }
    const File& loaded = load(file);
    if (loaded.refusal) {
      made.refusal = *loaded.refusal;
    } else {
      made.plugin = loaded.plugin.get();
      accepted_.emplace(file.name, made.plugin);
    }
    return made;
  }

  const File& load(const PluginFile& file) {
    File& one = by_path_[file.path];
    if (one.is_done) return one;
    one.plugin->name = file.name;
    one.plugin->path = file.path;
    one.refusal = load_(*one.plugin);
    one.is_done = true;
    return one;
  }

  const Load load_;
  std::mutex mutex_;  // guards what follows; plugins are loaded under it
  std::map<std::string, File> by_path_;
  std::map<std::string, const Plugin*, std::less<>> accepted_;  // by name
};

}  // namespace anyplace::detail
