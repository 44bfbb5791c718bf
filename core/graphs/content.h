// SPDX-License-Identifier: Apache-2.0
//
// GraphContent: the nodes of a graph and the objects that they use, at one moment. A GraphExec has one, and never
// changes it: an update replaces it. A child graph is a content of its own until flatten() puts its nodes in its place.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "memory/graph_pool.h"
#include "streams/capture.h"

namespace anyplace::detail {

class GraphDraws;

struct GraphContent {
  DeviceState* device = nullptr;  ///< the device of the launch stream
  NodeList list;
  std::vector<std::shared_ptr<HeldBuffer>> buffers;
  std::vector<std::shared_ptr<GraphPoolState>> pools;
  /// The events that the nodes record and wait for. Set in a flat content.
  std::vector<EventState*> recorded;
  std::vector<EventState*> waited;
  /// The random numbers (draws.h) of an executable graph whose kernels draw some, else null.
  std::shared_ptr<GraphDraws> draws;
  bool calls_host = false;        ///< some nodes are host functions
  bool launches_kernels = false;  ///< some nodes are kernels
};

/// The content with each child graph replaced by its nodes. A child's first nodes come after the nodes that the child
/// comes after; nodes that come after the child come after its last nodes. Throws bad_alloc.
std::shared_ptr<GraphContent> flatten(const GraphContent& content);

/// Whether a node runs on the device, or the graph uses its memory.
bool uses(const GraphContent& content, const DeviceState& device);

/// A text for people: "copy of 4096 bytes to the device".
std::string label_of(const Work& work);
/// The name of a kind of node, such as "kernel" or "copy", as in abi.h.
const char* name_of_kind(std::uint32_t kind) noexcept;

}  // namespace anyplace::detail
