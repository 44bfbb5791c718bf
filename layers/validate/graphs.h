// SPDX-License-Identifier: Apache-2.0
//
// Graphs: what the nodes of a backend's graph access, which is checked among them when the graph is made, and against
// everything else at each launch.
#pragma once

#include <anyplace/backend/abi.h>

#include <functional>
#include <string>
#include <vector>

#include "engine.h"
#include "thread.h"

namespace anyplace::validate {

struct Graph {
  Device* device = nullptr;
  struct Node {
    std::string name;
    std::vector<Touch> touches;
  };
  std::vector<Node> nodes;  ///< those that access memory
  std::vector<anyplace_event> waits;
  std::vector<anyplace_event> records;
};

/// What the layer knows of the handles in a description.
struct GraphSource {
  std::function<Device&(std::int32_t)> device;
  std::function<std::string(anyplace_kernel)> kernel;
  std::function<std::vector<Declared>(const anyplace_launch*)> declared;
};

/// The caller holds the engine's mutex. Adds the races among the nodes to `found`.
Graph make_graph(Engine& engine, Device& device, const anyplace_graph_desc& desc, const GraphSource& source,
                 const Sites::Frames& frames, std::vector<Report>& found);

}  // namespace anyplace::validate
