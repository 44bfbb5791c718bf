// SPDX-License-Identifier: Apache-2.0
//
// Graphs seen through a backend's table: what describes them, and what may come of that. The description is as hostile
// as the boundary lets it be: what lies between two nodes looks like nodes that are wrong, and nothing of it is kept.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "table_backend.h"

namespace anyplace::conformance {

/// Nodes, and all that they point to.
class GraphDescription {
 public:
  /// Of a newer core's, where `more` isn't 0: each struct has so many bytes behind those that are known today.
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
  /// Its struct_size is set here.
  void copy(anyplace_copy_2d copy, std::int32_t to_device, std::int32_t from_device,
            std::vector<std::uint32_t> after = {});
  void copy(const anyplace_copy_2d& lines, std::int32_t device, std::vector<std::uint32_t> after = {}) {
    copy(lines, device, device, std::move(after));
  }
  /// One piece, on the device.
  void copy_within(anyplace_address to, anyplace_address from, std::uint64_t bytes, std::int32_t device,
                   std::vector<std::uint32_t> after = {});
  void call(anyplace_host_function function, void* user, std::vector<std::uint32_t> after = {});
  void kernel(anyplace_kernel kernel, const anyplace_launch* launch, std::vector<std::uint32_t> after = {});
  void event(std::uint32_t kind, anyplace_event event, std::vector<std::uint32_t> after = {});

  /// Valid until the next node is added.
  const anyplace_graph_desc& desc();
  /// Whether each device that has graphs has this one: empty nodes, fills of bytes, copies of one piece on the device.
  bool is_plain() const noexcept;
  /// All of it is the caller's again, and something else.
  void spoil();

 private:
  anyplace_graph_node& add(std::uint32_t kind, std::vector<std::uint32_t> after);

  std::uint32_t stride_;
  std::uint32_t more_ = 0;
  std::deque<anyplace_graph_node> nodes_;
  std::deque<std::vector<std::uint32_t>> dependencies_;
  std::deque<Bytes> copies_;  // each with what a newer core has behind it
  Bytes array_;
  Bytes desc_;
};

/// The graph of what it describes; spoils the description. Skips the case where the device can't have it, and fails it
/// where each device has to.
anyplace_graph create_graph(const TableBackend& backend, GraphDescription& description, Caller caller = {});

/// Whether the device can; spoils the description.
bool update_graph(const TableBackend& backend, anyplace_graph graph, GraphDescription& description, Caller caller = {});

}  // namespace anyplace::conformance
