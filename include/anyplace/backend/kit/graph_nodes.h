// SPDX-License-Identifier: Apache-2.0
//
// Reads the nodes of a graph's description. An older core's structs are shorter than this header's, and a newer one's
// longer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../device_backend.h"

namespace anyplace::backend {

/// A node of the description; the fields that an older core lacks read as 0.
inline anyplace_graph_node node_at(const anyplace_graph_desc& desc, std::uint32_t index) noexcept {
  anyplace_graph_node node{};
  const auto* const bytes = reinterpret_cast<const std::byte*>(desc.nodes);
  std::memcpy(&node, bytes + std::size_t{index} * desc.node_stride,
              std::min<std::size_t>(desc.node_stride, sizeof(node)));
  return node;
}

/// A struct that a node points to, such as its launch; the fields that an older core lacks read as 0.
template <class Struct>
Struct widened(const Struct* given) noexcept {
  return detail::Crossing<const Struct&>::widened(given);
}

}  // namespace anyplace::backend
