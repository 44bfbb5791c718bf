// SPDX-License-Identifier: Apache-2.0
//
// Graphs: what the nodes of a backend's graph access, which is checked among them when the graph is made, and against
// everything else at each launch.
#pragma once

#include <anyplace/backend/abi.h>

#include <functional>
#include <memory>
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

/// A graph's host function, which says of its thread that it runs. Which launch it runs for can't be known, so what it
/// declares of memory is not compared with anything.
struct GraphCall {
  anyplace_host_function function;
  void* user;

  static void run(void* self, anyplace_status status);
};
using GraphCalls = std::vector<std::unique_ptr<GraphCall>>;

/// A description with the same nodes, whose host functions are GraphCalls. They have to live as long as the backend may
/// call them, and are added to `calls`.
class GraphWithCalls {
 public:
  GraphWithCalls(const anyplace_graph_desc& given, GraphCalls& calls);
  const anyplace_graph_desc& desc() const noexcept { return desc_; }

 private:
  anyplace_graph_desc desc_;
  std::vector<unsigned char> nodes_;
};

/// The caller holds the engine's mutex. Adds the races among the nodes to `found`.
Graph make_graph(Engine& engine, Device& device, const anyplace_graph_desc& desc, const GraphSource& source,
                 const Sites::Frames& frames, std::vector<Report>& found);

}  // namespace anyplace::validate
