// SPDX-License-Identifier: Apache-2.0
#include "plugins/layer_plugins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "plugins/names.h"
#include "plugins/table_checks.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

/// The functions behind `command` are optional, and a table may end before them.
constexpr TableKind layer_kind{"the layers' ABI", ANYPLACE_LAYER_ABI_MAJOR, ANYPLACE_LAYER_ABI_MINOR,
                               offsetof(anyplace_layer_table, annotation)};

/// Why a table can't be used; empty if it can.
std::string layer_table_problem(const anyplace_layer_table& table, std::uint32_t room, std::string_view name) {
  if (std::string problem = version_problem(layer_kind, table, room); !problem.empty()) return problem;
  if (table.backend_abi_major != ANYPLACE_ABI_MAJOR || table.backend_table_size < sizeof(anyplace_backend_table)) {
    return fmt::format(
        "it was built for backends of ABI {}, with a table of {} bytes, and this anyplace has {}, with {} bytes: build "
        "it again with this anyplace's headers",
        table.backend_abi_major, table.backend_table_size, ANYPLACE_ABI_MAJOR, sizeof(anyplace_backend_table));
  }
  const std::initializer_list<TableText> texts{{"name", table.name},
                                               {"version", table.version},
                                               {"description", table.description},
                                               {"variables", table.variables}};
  if (std::string problem = text_problem(texts, name); !problem.empty()) return problem;
  if (table.begin == nullptr) return "its table lacks the entry begin, which every layer must have";
  return "";
}

std::optional<Refusal> load_layer(LayerPlugin& layer) {
  LoadedPlugin* const context = &layer;
  layer.host = {
      sizeof(layer.host), ANYPLACE_LAYER_ABI_MAJOR, ANYPLACE_LAYER_ABI_MINOR, 0, context, plugin_leave_message,
      plugin_log};
  return fill_plugin<anyplace_layer_entry_function>(layer, ANYPLACE_LAYER_ENTRY_SYMBOL, layer_table_problem);
}
NoDestructor<LoadedPlugins<LayerPlugin>> layer_plugins(load_layer);

[[noreturn]] void fail_no_layer(std::string_view name, const LayerAsker& asker) {
  std::set<std::string> known;
  for (const PluginFile& file : list_plugins(PluginKind::layer).files) known.insert(file.name);
  fail(ErrorCode::invalid_argument, asker.place, asker.operation,
       fmt::format("{} names the layer {}, and there is no {}{}\n{}\n`anyplace doctor` lists the layers", asker.source,
                   in_quotes(name), plugin_file_name(name, PluginKind::layer), not_searched(),
                   known.empty() ? std::string("no layer is installed") : suggestion_among(name, known)));
}

}  // namespace

std::vector<Candidate<LayerPlugin>> layer_candidates() {
  auto all = layer_plugins.value.candidates(list_plugins(PluginKind::layer).files);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.file.name < b.file.name; });
  return all;
}

void require_layer_file(std::string_view name, const LayerAsker& asker) {
  if (find_plugins(name, PluginKind::layer).empty()) fail_no_layer(name, asker);
}

const LayerPlugin& layer_plugin(const std::string& name, const LayerAsker& asker) {
  if (const LayerPlugin* const layer = layer_plugins.value.accepted(name)) return *layer;
  std::optional<Refusal> first;
  std::string reasons;
  for (auto& candidate : layer_plugins.value.candidates(find_plugins(name, PluginKind::layer))) {
    if (candidate.plugin != nullptr) return *candidate.plugin;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", candidate.file.path, candidate.refusal.reason);
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
