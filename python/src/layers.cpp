// SPDX-License-Identifier: Apache-2.0
//
// Layers, and how many streams and events there are: what the plugin for pytest stands on.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "extensions.h"
#include "live.h"
#include "objects.h"

namespace anyplace::python {

using namespace nb::literals;

void bind_layers(nb::module_& module) {
  module.def("use_layers", &use_layers, "layers"_a,
             "The layers that the program wants, before a backend's first use: \"faults\", or \"cuda+faults\".");
  module.def(
      "layers_of", [](const std::string& backend) { return layers_of(backend); }, "backend"_a,
      "The layers over a backend, the outermost first. Opens no plugin.");
  module.def(
      "layer_command",
      [](const std::string& layer, const std::string& command, const std::string& argument) {
        const nb::gil_scoped_release release;
        return layer_command(layer, command, argument);
      },
      "layer"_a, "command"_a, "argument"_a = "", "Tells a layer to do something, and returns its answer.");
  module.def(
      "live_objects",
      [] {
        nb::dict counts;
        counts["streams"] = live_count<Stream>.load();
        counts["events"] = live_count<Event>.load();
        return counts;
      },
      nb::sig("def live_objects() -> dict[str, int]"), "How many streams and events Python's objects own.");
}

}  // namespace anyplace::python
