// SPDX-License-Identifier: Apache-2.0
#include "plugins/layer_stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "plugins/plugin_open.h"
#include "plugins/plugin_table.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"
#include "runtime/process.h"
#include "runtime/subsystem.h"

namespace anyplace::detail {
namespace {

using MadeLayers = std::vector<std::unique_ptr<BackendLayer>>;

/// Layers that were begun over a backend before one couldn't be, and that one. A plugin may have kept the address of
/// the table below, so they are never destroyed.
struct AbandonedLayers {
  std::mutex mutex;  // guards layers; a leaf
  MadeLayers layers;
};
NoDestructor<AbandonedLayers> abandoned;

[[noreturn]] void fail_layer(const ChosenLayer& chosen, const Backend& backend, const Refusal& refusal) {
  fail(refusal.code, chosen.asker.place, chosen.asker.operation,
       fmt::format("the layer {} can't be put over the backend {}: {}\n{}\nit was named by {}", chosen.name,
                   backend.name, refusal.reason,
                   refusal.remedy.empty() ? std::string("the layer has to be corrected by its vendor") : refusal.remedy,
                   chosen.asker.source));
}

/// Asks the layer for a table over layer.next.
anyplace_backend_table begin_layer(const LayerPlugin& plugin, const BackendLayer& layer, const Backend& backend,
                                   const ChosenLayer& chosen) {
  const CallbackScope scope;  // the layer may not call anyplace
  GuardedTable<anyplace_backend_table> filled;
  take_message();
  const auto begin = [&](const anyplace_host* host, anyplace_backend_table* table) {
    return plugin.table.begin(plugin.table.self, host, &layer.next, table);
  };
  if (const std::optional<Refusal> refusal = fill_table(begin, backend.host, filled, backend.name, "begin")) {
    fail_layer(chosen, backend, *refusal);
  }
  if (std::string problem = table_problem(filled.table, sizeof(filled.table), backend.name); !problem.empty()) {
    fail_layer(chosen, backend, {ErrorCode::plugin_refused, std::move(problem)});
  }
  // Entries beyond those that the layer filled stay null, whatever it wrote there.
  anyplace_backend_table table{};
  std::memcpy(&table, &filled.table, filled.table.struct_size);
  return table;
}

/// Keeps what was made for good. Throws bad_alloc.
void abandon(MadeLayers& made) {
  for (auto layer = made.rbegin(); layer != made.rend(); ++layer) {
    if ((*layer)->end != nullptr) (*layer)->end((*layer)->instance);
  }
  const std::lock_guard lock(abandoned.value.mutex);
  for (auto& layer : made) abandoned.value.layers.push_back(std::move(layer));
}

}  // namespace

void put_layers(Backend& backend, const std::vector<ChosenLayer>& chosen) {
  if (!backend.layers.empty()) return;
  MadeLayers made;  // the innermost first
  made.reserve(chosen.size());
  anyplace_backend_table top = backend.table;
  try {
    for (auto one = chosen.rbegin(); one != chosen.rend(); ++one) {
      const LayerPlugin& plugin = layer_plugin(one->name, one->asker);
      BackendLayer& layer = *made.emplace_back(std::make_unique<BackendLayer>());
      layer.name = one->name;
      layer.next = top;
      layer.next.struct_size = sizeof(layer.next);
      top = begin_layer(plugin, layer, backend, *one);
      layer.instance = top.self;
      layer.end = plugin.table.end;
      layer.table = &plugin.table;
    }
    for (const auto& layer : made) {
      for (const Subsystem* const subsystem : subsystems()) {
        if (subsystem->layer_put != nullptr) subsystem->layer_put(*layer->table);
      }
    }
  } catch (...) {
    abandon(made);
    throw;
  }
  std::reverse(made.begin(), made.end());
  backend.layers = std::move(made);
  backend.table = top;
}

void require_layer(const Backend& backend, const std::string& layer, const LayerAsker& asker) {
  const bool is_on =
      std::any_of(backend.layers.begin(), backend.layers.end(), [&](const auto& one) { return one->name == layer; });
  if (is_on) return;
  fail(ErrorCode::invalid_argument, asker.place, asker.operation,
       fmt::format(
           "the backend {} is in use without the layer {}, which {} names\nlayers are put on at a backend's first "
           "use: name it in ANYPLACE_LAYERS, or call use_layers() before that\n`anyplace doctor` shows which "
           "layers are on",
           backend.name, layer, asker.source));
}

}  // namespace anyplace::detail
