// SPDX-License-Identifier: Apache-2.0
//
// Finds the plugins of layers, and remembers why a file was refused. They are found and checked as backends' are
// (registry.h). Loading one puts it over no backend.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "anyplace/backend/layer.h"
#include "plugins/loaded_plugins.h"

namespace anyplace::detail {

/// A layer whose plugin was accepted. Never destroyed.
struct LayerPlugin : LoadedPlugin {
  anyplace_layer_host host{};
  anyplace_layer_table table{};
};

/// Returns what became of all files, by the names of their layers. Loads the plugins that aren't loaded yet. Throws
/// shortages (runtime/shortage.h).
std::vector<Candidate<LayerPlugin>> layer_candidates();

/// What asks for a layer, and the place or the backend that it is for, for errors.
struct LayerAsker {
  std::string source;  ///< "ANYPLACE_LAYERS"
  std::string place;
  const char* operation = "";
};

/// Throws invalid_argument, with the known names, if there is no file for a layer of that name. Opens nothing.
void require_layer_file(std::string_view name, const LayerAsker& asker);

/// Loads the first good file of the name. Throws invalid_argument if there is none of that name, and the code of the
/// first refusal if all are refused.
const LayerPlugin& layer_plugin(const std::string& name, const LayerAsker& asker);

}  // namespace anyplace::detail
