// SPDX-License-Identifier: Apache-2.0
//
// Puts layers over a backend: each fills a table over the one below, and the core calls the uppermost. Without layers
// nothing changes, and the core calls the plugin's own table.
#pragma once

#include <string>
#include <vector>

#include "plugins/layer_choice.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// Puts the chosen layers, the outermost first, over a backend whose plugin was accepted and whose devices aren't made
/// yet. Does nothing if that was done. Loads their plugins. If one can't be used or put over the backend, throws and
/// leaves the backend as it was.
void put_layers(Backend& backend, const std::vector<ChosenLayer>& chosen);

/// Throws invalid_argument if the backend, which is in use, lacks the layer.
void require_layer(const Backend& backend, const std::string& layer, const LayerAsker& asker);

}  // namespace anyplace::detail
