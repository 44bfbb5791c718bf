// SPDX-License-Identifier: Apache-2.0
#include "plugins/layer_plugins.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "plugins/names.h"
#include "runtime/call.h"
#include "runtime/exit.h"
#include "runtime/no_destructor.h"
#include "runtime/process.h"
#include "runtime/switch_variable.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

struct LoadedLayer {
  /// It is kept even if the plugin is refused, because the plugin may have stored the host's address.
  std::unique_ptr<LayerPlugin> layer = std::make_unique<LayerPlugin>();
  std::optional<Refusal> refusal;
  bool is_done = false;  ///< false after a shortage; the next call then loads the plugin again
};
struct LayerPlugins {
  std::mutex mutex;  // guards what follows; plugins are loaded under it
  std::map<std::string, LoadedLayer> by_path;
  std::map<std::string, const LayerPlugin*, std::less<>> accepted;  ///< by name
};
NoDestructor<LayerPlugins> layer_plugins;

void layer_leave_message(void* /*context*/, std::int64_t code, const char* vendor_name, const char* text) {
  leave_message(code, vendor_name, text);
}

void layer_log(void* context, std::uint32_t level, const char* text) {
  if (!log_wanted()) return;
  try {
    const std::string line = fmt::format("anyplace: {}: {}: {}\n", static_cast<const LayerPlugin*>(context)->name,
                                         level == ANYPLACE_LOG_WARNING ? "warning" : "info", one_line(bounded(text)));
    std::fwrite(line.data(), 1, line.size(), stderr);
  } catch (...) {  // without memory the line is dropped
  }
}

std::string layer_version_problem(const anyplace_layer_table& table, std::uint32_t room) {
  if (table.abi_major != ANYPLACE_LAYER_ABI_MAJOR) {
    return fmt::format(
        "it was built for the layers' ABI {}.{}, and this anyplace has {}.{}: build it again with this anyplace's "
        "headers, or use an anyplace of its major",
        table.abi_major, table.abi_minor, ANYPLACE_LAYER_ABI_MAJOR, ANYPLACE_LAYER_ABI_MINOR);
  }
  if (table.struct_size < sizeof(anyplace_layer_table) || table.struct_size > room) {
    return fmt::format("it says that it filled {} bytes of the table; at least {} are needed, and it was given {}",
                       table.struct_size, sizeof(anyplace_layer_table), room);
  }
  if (table.backend_abi_major != ANYPLACE_ABI_MAJOR || table.backend_table_size < sizeof(anyplace_backend_table)) {
    return fmt::format(
        "it was built for backends of ABI {}, with a table of {} bytes, and this anyplace has {}, with {} bytes: build "
        "it again with this anyplace's headers",
        table.backend_abi_major, table.backend_table_size, ANYPLACE_ABI_MAJOR, sizeof(anyplace_backend_table));
  }
  return "";
}

/// Why a table can't be used; empty if it can.
std::string layer_table_problem(const anyplace_layer_table& table, std::uint32_t room, const std::string& name) {
  if (std::string problem = layer_version_problem(table, room); !problem.empty()) return problem;
  const auto is_open = [](const auto& text) { return std::memchr(text, '\0', sizeof(text)) == nullptr; };
  const char* const open = is_open(table.name)          ? "name"
                           : is_open(table.version)     ? "version"
                           : is_open(table.description) ? "description"
                           : is_open(table.variables)   ? "variables"
                                                        : nullptr;
  if (open != nullptr) return fmt::format("the {} in its table doesn't end with a NUL", open);
  if (name != table.name) {
    return fmt::format("its table says that its name is {}, and its file says {}", quoted(table.name), quoted(name));
  }
  if (table.begin == nullptr) return "its table lacks the entry begin, which every layer must have";
  return "";
}

std::optional<Refusal> open_layer(LayerPlugin& layer) {
  const CallbackScope scope;  // the plugin may not call anyplace
  const OpenedFile opened = open_plugin(layer.path, layer.name, &layer);
  if (opened.handle == nullptr) return opened.refusal;
  void* const symbol = ::dlsym(opened.handle, ANYPLACE_LAYER_ENTRY_SYMBOL);
  if (symbol == nullptr) return lacks_symbol(ANYPLACE_LAYER_ENTRY_SYMBOL);
  GuardedTable<anyplace_layer_table> filled;
  take_message();
  if (std::optional<Refusal> refusal = fill_table(reinterpret_cast<anyplace_layer_entry_function>(symbol), layer.host,
                                                  filled, layer.name, ANYPLACE_LAYER_ENTRY_SYMBOL)) {
    return refusal;
  }
  const std::uint32_t room = sizeof(filled.table);
  if (std::string problem = layer_table_problem(filled.table, room, layer.name); !problem.empty()) {
    return Refusal{ErrorCode::plugin_refused, std::move(problem)};
  }
  layer.table = filled.table;
  return std::nullopt;
}

/// Loads the file unless that was done before. The caller holds the mutex.
LayerCandidate layer_candidate(const PluginFile& file) {
  LayerCandidate candidate{file};
  const auto accepted = layer_plugins.value.accepted.find(file.name);
  if (accepted != layer_plugins.value.accepted.end() && accepted->second->path != file.path) {
    candidate.refusal.reason = accepted->second->path + " comes first";
    return candidate;
  }
  LoadedLayer& one = layer_plugins.value.by_path[file.path];
  if (!one.is_done) {
    LayerPlugin& layer = *one.layer;
    layer.name = file.name;
    layer.path = file.path;
    layer.host = {
        sizeof(layer.host), ANYPLACE_LAYER_ABI_MAJOR, ANYPLACE_LAYER_ABI_MINOR, 0, &layer, layer_leave_message,
        layer_log};
    one.refusal = open_layer(layer);
    one.is_done = true;
    if (!one.refusal) layer_plugins.value.accepted.emplace(layer.name, &layer);
  }
  if (one.refusal) {
    candidate.refusal = *one.refusal;
  } else {
    candidate.layer = one.layer.get();
  }
  return candidate;
}

[[noreturn]] void fail_no_layer(std::string_view name, const LayerAsker& asker) {
  std::set<std::string> known;
  for (const PluginFile& file : list_plugins(PluginKind::layer).files) known.insert(file.name);
  fail(ErrorCode::invalid_argument, asker.place, asker.operation,
       fmt::format("{} names the layer {}, and there is no {}\n{}\n`anyplace doctor` lists the layers", asker.source,
                   quoted(name), plugin_file_name(name, PluginKind::layer),
                   known.empty() ? std::string("no layer is installed") : suggestion_among(name, known)));
}

}  // namespace

std::vector<LayerCandidate> layer_candidates() {
  const LoadingScope loading;  // the lock may be held for long
  const std::lock_guard lock(layer_plugins.value.mutex);
  std::vector<LayerCandidate> all;
  for (const PluginFile& file : list_plugins(PluginKind::layer).files) all.push_back(layer_candidate(file));
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.file.name < b.file.name; });
  return all;
}

void require_layer_file(std::string_view name, const LayerAsker& asker) {
  if (find_plugins(name, PluginKind::layer).empty()) fail_no_layer(name, asker);
}

const LayerPlugin& layer_plugin(const std::string& name, const LayerAsker& asker) {
  const LoadingScope loading;
  const std::lock_guard lock(layer_plugins.value.mutex);
  const auto accepted = layer_plugins.value.accepted.find(name);
  if (accepted != layer_plugins.value.accepted.end()) return *accepted->second;
  std::optional<Refusal> first;
  std::string reasons;
  for (const PluginFile& file : find_plugins(name, PluginKind::layer)) {
    LayerCandidate candidate = layer_candidate(file);
    if (candidate.layer != nullptr) return *candidate.layer;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", file.path, candidate.refusal.reason);
    if (!first) first = std::move(candidate.refusal);
  }
  if (!first) fail_no_layer(name, asker);
  const std::string remedy =
      first->remedy.empty() ? fmt::format("without it take the name out of {}", asker.source) : first->remedy;
  fail(first->code, asker.place, asker.operation,
       fmt::format("{} names the layer {}, which can't be used: {}\n{}\n`anyplace doctor` lists the layers",
                   asker.source, name, reasons, remedy));
}

}  // namespace anyplace::detail
