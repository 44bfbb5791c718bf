// SPDX-License-Identifier: Apache-2.0
//
// Layers: code between the library and a backend that sees every call, for example to fail some on demand (`faults`).
// docs/layers.md is the guide.
//
//   anyplace::use_layers({"faults"});                                   // before a backend is first used
//   anyplace::layer_command("faults", "add", "memory_allocate=out_of_memory nth=3");
//   const anyplace::Device device("cuda:0");
//
// A layer is a plugin, libanyplace_layer_<name>.so, which is looked for where backends' are (plugins.h). A backend has
// the layers of the variable ANYPLACE_LAYERS, of use_layers() and of the place that it is first used by
// ("cuda+faults:0"), the first of which is the next to the application. They are put on at the backend's first use and
// stay. Where none is on, a call does what it does without layers, to the instruction.
//
// Every function here may be called from any thread, and can throw forked, shut_down, and not_permitted inside a host
// function, a kernel or a plugin's entry; each says what else it throws.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "export.h"

namespace anyplace {

/// A layer's plugin.
struct LayerInfo {
  std::string name;     ///< the name that a place and ANYPLACE_LAYERS use: "trace"
  std::string plugin;   ///< the path of its file
  bool usable = false;  ///< whether it can be put over a backend
  std::string reason;   ///< why it isn't usable; else ""
  // -- What the plugin says of itself; empty if it isn't usable.
  std::string version;                 ///< the plugin's version
  std::string description;             ///< what it does, in a line for people
  std::vector<std::string> variables;  ///< the environment variables that it reads
};

/// All layers' plugins that are found, by their names. Opens each, and puts none over a backend.
ANYPLACE_API std::vector<LayerInfo> layers();

/// Sets the layers that the program wants: each item is "layer" for all backends, or "backend+layer" for one. They come
/// after those of ANYPLACE_LAYERS. Each call replaces the list of the one before. Throws invalid_argument for a bad
/// item, for a layer that isn't there or that the list has twice for a backend, and if a backend that is in use lacks
/// one of them; then the list of before stays. It opens no plugin: a layer that can't be used is an error at the
/// backend's first use. A backend that is in use keeps its layers.
ANYPLACE_API void use_layers(const std::vector<std::string>& layers);

/// The layers that are over a backend, the outermost first; or, if it isn't in use yet, those that ANYPLACE_LAYERS and
/// use_layers() want for it. Opens no plugin. Throws invalid_argument for a text that is no name, and for a bad
/// ANYPLACE_LAYERS.
ANYPLACE_API std::vector<std::string> layers_of(std::string_view backend);

/// Tells a layer to do something, and returns its answer. The layer's documentation says which commands there are. The
/// plugin is opened if it isn't yet; whether the layer is on makes no difference. Throws invalid_argument for a layer
/// that isn't there, for a command that it doesn't know and for a bad argument, unsupported if it takes no commands,
/// and what the layer throws.
ANYPLACE_API std::string layer_command(std::string_view layer, std::string_view command,
                                       std::string_view argument = {});

}  // namespace anyplace
