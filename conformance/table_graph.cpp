// SPDX-License-Identifier: Apache-2.0
#include "table_graph.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace anyplace::conformance {

anyplace_graph_node& GraphDescription::add(std::uint32_t kind, std::vector<std::uint32_t> after) {
  dependencies_.push_back(std::move(after));
  anyplace_graph_node node{};
  node.kind = kind;
  node.dependency_count = static_cast<std::uint32_t>(dependencies_.back().size());
  node.dependencies = dependencies_.back().data();
  nodes_.push_back(node);
  return nodes_.back();
}

void GraphDescription::fill(anyplace_address address, std::uint32_t value, std::uint32_t width, std::uint64_t count,
                            std::vector<std::uint32_t> after) {
  anyplace_graph_node& node = add(ANYPLACE_GRAPH_NODE_MEMSET, std::move(after));
  node.address = address;
  node.value = value;
  node.width = width;
  node.count = count;
}

void GraphDescription::copy(anyplace_copy_2d copy, std::int32_t to_device, std::int32_t from_device,
                            std::vector<std::uint32_t> after) {
  copy.struct_size = static_cast<std::uint32_t>(sizeof(copy)) + more_;
  copies_.emplace_back(copy.struct_size, std::uint8_t{0xee});
  std::memcpy(copies_.back().data(), &copy, sizeof(copy));
  anyplace_graph_node& node = add(ANYPLACE_GRAPH_NODE_COPY, std::move(after));
  node.copy = reinterpret_cast<const anyplace_copy_2d*>(copies_.back().data());
  node.destination_device = to_device;
  node.source_device = from_device;
}

void GraphDescription::copy_within(anyplace_address to, anyplace_address from, std::uint64_t bytes, std::int32_t device,
                                   std::vector<std::uint32_t> after) {
  copy({0, ANYPLACE_COPY_DEVICE_TO_DEVICE, to, bytes, from, bytes, bytes, 1}, device, std::move(after));
}

void GraphDescription::call(anyplace_host_function function, void* user, std::vector<std::uint32_t> after) {
  anyplace_graph_node& node = add(ANYPLACE_GRAPH_NODE_HOST_FUNCTION, std::move(after));
  node.function = function;
  node.user = user;
}

void GraphDescription::kernel(anyplace_kernel kernel, const anyplace_launch* launch, std::vector<std::uint32_t> after) {
  anyplace_graph_node& node = add(ANYPLACE_GRAPH_NODE_KERNEL, std::move(after));
  node.kernel = kernel;
  node.launch = launch;
}

void GraphDescription::event(std::uint32_t kind, anyplace_event event, std::vector<std::uint32_t> after) {
  add(kind, std::move(after)).event = event;
}

const anyplace_graph_desc& GraphDescription::desc() {
  array_.assign(nodes_.size() * stride_, 0xee);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    std::memcpy(array_.data() + i * stride_, &nodes_[i], sizeof(anyplace_graph_node));
  }
  anyplace_graph_desc desc{};
  desc.struct_size = static_cast<std::uint32_t>(sizeof(desc)) + more_;
  desc.node_count = static_cast<std::uint32_t>(nodes_.size());
  desc.node_stride = stride_;
  desc.nodes = reinterpret_cast<const anyplace_graph_node*>(array_.data());
  desc_.assign(desc.struct_size, 0xee);
  std::memcpy(desc_.data(), &desc, sizeof(desc));
  return *reinterpret_cast<const anyplace_graph_desc*>(desc_.data());
}

bool GraphDescription::is_plain() const noexcept {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const anyplace_graph_node& node) {
    if (node.kind == ANYPLACE_GRAPH_NODE_MEMSET) return node.width == 1;
    if (node.kind != ANYPLACE_GRAPH_NODE_COPY) return node.kind == ANYPLACE_GRAPH_NODE_EMPTY;
    return node.copy->rows == 1 && node.copy->kind == ANYPLACE_COPY_DEVICE_TO_DEVICE &&
           node.destination_device == node.source_device;
  });
}

void GraphDescription::spoil() {
  const auto fill = [](Bytes& bytes) { std::fill(bytes.begin(), bytes.end(), std::uint8_t{0xee}); };
  fill(array_);
  fill(desc_);
  std::for_each(copies_.begin(), copies_.end(), fill);
  for (std::vector<std::uint32_t>& after : dependencies_) std::fill(after.begin(), after.end(), 0xeeeeeeeeu);
}

anyplace_graph create_graph(const TableBackend& backend, GraphDescription& description, Caller caller) {
  anyplace_graph graph = 0;
  const bool plain = description.is_plain();
  step(caller.file, caller.line, "graph_create");
  const anyplace_status status =
      backend.table().graph_create(backend.self(), backend.device(), &description.desc(), &graph);
  description.spoil();
  if (status == ANYPLACE_STATUS_UNSUPPORTED && !plain) skip("graphs with such nodes");
  TableBackend::require(status, "graph_create", caller);
  if (graph == 0) check_failed(caller.file, caller.line, "graph_create gives the null handle");
  return graph;
}

bool update_graph(const TableBackend& backend, anyplace_graph graph, GraphDescription& description, Caller caller) {
  step(caller.file, caller.line, "graph_update");
  const anyplace_status status = backend.table().graph_update(backend.self(), graph, &description.desc());
  description.spoil();
  if (status == ANYPLACE_STATUS_UNSUPPORTED) {
    static_cast<void>(TableBackend::message());
    return false;
  }
  TableBackend::require(status, "graph_update", caller);
  return true;
}

}  // namespace anyplace::conformance
