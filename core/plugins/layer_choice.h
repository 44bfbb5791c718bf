// SPDX-License-Identifier: Apache-2.0
//
// Which layers a backend is to have: those of ANYPLACE_LAYERS, of use_layers() and of a place, in this order.
//
//   list  = item {"," item}
//   item  = [backend "+"] layer
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/layer_plugins.h"

namespace anyplace::detail {

/// A layer that a backend is to have, and what asks for it.
struct ChosenLayer {
  std::string name;
  LayerAsker asker;
};

/// The layers for the backend, the first of which is the outermost. `place_layers` are those of `place`. Throws
/// invalid_argument, which names the source, for a bad list and for a layer that no file is there for. Opens nothing.
std::vector<ChosenLayer> chosen_layers(const std::string& backend, const std::vector<std::string>& place_layers,
                                       const std::string& place, const char* operation);

/// Sets the list of use_layers() after checking it as above. Throws invalid_argument if a backend that is in use lacks
/// a layer of the list; then the former list stays.
void choose_layers(const std::vector<std::string>& items, const char* operation);

/// The mutex of the list of use_layers().
std::mutex& layer_choice_mutex() noexcept;

}  // namespace anyplace::detail
