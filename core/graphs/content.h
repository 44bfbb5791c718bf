// SPDX-License-Identifier: Apache-2.0
//
// GraphContent: the nodes of a graph and what they use, at one moment. A GraphExec has one, and never changes it: other
// work is another content. A child graph is a content of its own until flatten() puts its nodes in its place.
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
  DeviceState* device = nullptr;  ///< the launch stream's
  NodeList list;
  std::vector<std::shared_ptr<HeldBuffer>> buffers;
  std::vector<std::shared_ptr<GraphPoolState>> pools;
  /// Of a flat content: those that its nodes record and wait for.
  std::vector<EventState*> recorded;
  std::vector<EventState*> waited;
  /// Of an executable graph whose kernels draw random numbers (draws.h), else null.
  std::shared_ptr<GraphDraws> draws;
  bool calls_host = false;        ///< there are host functions among them
  bool launches_kernels = false;  ///< and kernels
};

/// The content with the nodes of all children in the children's places. A child's first nodes come after what the child
/// comes after; what comes after the child comes after its last ones. Throws bad_alloc.
std::shared_ptr<GraphContent> flatten(const GraphContent& content);

/// Whether nodes of it run on the device, or use its memory.
bool uses(const GraphContent& content, const DeviceState& device);

/// For people: "copy of 4096 bytes to the device".
std::string label_of(const Work& work);
/// "kernel", "copy": as in abi.h.
const char* name_of_kind(std::uint32_t kind) noexcept;

}  // namespace anyplace::detail
