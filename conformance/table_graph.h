// SPDX-License-Identifier: Apache-2.0
//
// Graphs, used through a backend's table: their descriptions, and what a backend may do with them. The description is
// as hostile as the boundary allows: the bytes between two nodes look like wrong nodes, and everything is overwritten
// after the call.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "table_backend.h"

namespace anyplace::conformance {

/// Nodes, and everything that they point to.
class GraphDescription {
 public:
  /// Describes the structs of a newer core if `more` isn't 0: each has that many bytes behind those that are known
  /// today.
  struct Newer {
    std::uint32_t more;
  };
  explicit GraphDescription(std::uint32_t stride = sizeof(anyplace_graph_node)) : stride_(stride) {}
  explicit GraphDescription(Newer newer)
      : stride_(static_cast<std::uint32_t>(sizeof(anyplace_graph_node)) + newer.more), more_(newer.more) {}
  GraphDescription(const GraphDescription&) = delete;  // the nodes point into it
  GraphDescription& operator=(const GraphDescription&) = delete;

  void empty(std::vector<std::uint32_t> after = {}) { add(ANYPLACE_GRAPH_NODE_EMPTY, std::move(after)); }
  void fill(anyplace_address address, std::uint32_t value, std::uint32_t width, std::uint64_t count,
            std::vector<std::uint32_t> after = {});
  /// Adds a copy node; its struct_size is set here.
  void copy(anyplace_copy_2d copy, std::int32_t to_device, std::int32_t from_device,
            std::vector<std::uint32_t> after = {});
  void copy(const anyplace_copy_2d& lines, std::int32_t device, std::vector<std::uint32_t> after = {}) {
    copy(lines, device, device, std::move(after));
  }
  /// Adds a copy of one piece on the device.
  void copy_within(anyplace_address to, anyplace_address from, std::uint64_t bytes, std::int32_t device,
                   std::vector<std::uint32_t> after = {});
  void call(anyplace_host_function function, void* user, std::vector<std::uint32_t> after = {});
  void kernel(anyplace_kernel kernel, const anyplace_launch* launch, std::vector<std::uint32_t> after = {});
  void event(std::uint32_t kind, anyplace_event event, std::vector<std::uint32_t> after = {});

  /// The description, which is valid until the next node is added.
  const anyplace_graph_desc& desc();
  /// Whether each device with graphs must take this one: it has only empty nodes, fills of bytes, and copies of one
  /// piece on the device.
  bool is_plain() const noexcept;
  /// Overwrites the whole description, as its owner may do after the call.
  void spoil();

 private:
  anyplace_graph_node& add(std::uint32_t kind, std::vector<std::uint32_t> after);

  std::uint32_t stride_;
  std::uint32_t more_ = 0;
  std::deque<anyplace_graph_node> nodes_;
  std::deque<std::vector<std::uint32_t>> dependencies_;
  std::deque<Bytes> copies_;  // each with the additional bytes of a newer core
  Bytes array_;
  Bytes desc_;
};

/// Makes the described graph, and spoils the description. If the device refuses the graph, the case is skipped, or
/// fails if each device must take it.
anyplace_graph create_graph(const TableBackend& backend, GraphDescription& description, Caller caller = {});

/// Updates a graph, and spoils the description. Returns whether the device can.
bool update_graph(const TableBackend& backend, anyplace_graph graph, GraphDescription& description, Caller caller = {});

}  // namespace anyplace::conformance
