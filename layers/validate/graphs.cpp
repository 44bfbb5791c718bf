// SPDX-License-Identifier: Apache-2.0
#include "graphs.h"

#include <cstddef>
#include <cstring>
#include <utility>

#include "touches.h"

namespace anyplace::validate {
namespace {

/// Which nodes come before which, as a bit for each pair. A dependency has a lower number than its node.
class Paths {
 public:
  explicit Paths(std::size_t count) : words_((count + 63) / 64), bits_(count * words_) {}
  void add(std::uint32_t before, std::uint32_t node) {
    for (std::size_t i = 0; i < words_; ++i) bits_[node * words_ + i] |= bits_[before * words_ + i];
    bits_[node * words_ + before / 64] |= std::uint64_t{1} << before % 64;
  }
  bool reaches(std::uint32_t before, std::uint32_t node) const {
    return (bits_[node * words_ + before / 64] >> before % 64 & 1) != 0;
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

void add_node(Engine& engine, Device& device, const anyplace_graph_node& node, const GraphSource& source,
              Graph::Node& out) {
  switch (node.kind) {
    case ANYPLACE_GRAPH_NODE_KERNEL:
      out.name = source.kernel(node.kernel);
      add_launch(engine, device, *node.launch, source.declared(node.launch), out.touches);
      break;
    case ANYPLACE_GRAPH_NODE_COPY:
      out.name = copy_name(node.copy->kind);
      if (node.destination_device != node.source_device) {
        add_peer_copy(engine, source.device(node.destination_device), node.copy->destination,
                      source.device(node.source_device), node.copy->source, node.copy->width, out.touches);
      } else {
        add_copy(engine, device, *node.copy, out.touches);
      }
      break;
    case ANYPLACE_GRAPH_NODE_MEMSET: {
      out.name = "fill";
      const std::uint64_t bytes = node.count * node.width;
      add_device_lines(engine, device, {node.address, bytes, bytes, 1}, true, out.touches);
      break;
    }
    default:
      break;
  }
  for (Touch& touch : out.touches) {
    touch.at_the_call = false;  // a launch reads in its stream's order
    const Allocation* const allocation = engine.allocation_at(touch.space, touch.range.begin);
    if (allocation != nullptr && allocation->is_live) touch.allocation = allocation->id;
  }
}

}  // namespace

void GraphCall::run(void* self, anyplace_status status) {
  const GraphCall& call = *static_cast<const GraphCall*>(self);
  this_thread().is_in_graph = true;
  call.function(call.user, status);
  this_thread().is_in_graph = false;
}

GraphWithCalls::GraphWithCalls(const anyplace_graph_desc& given, GraphCalls& calls) : desc_(given) {
  const std::size_t bytes = std::size_t{given.node_count} * given.node_stride;
  const auto* const first = reinterpret_cast<const unsigned char*>(given.nodes);
  nodes_.assign(first, first + bytes);
  for (std::size_t at = 0; at < bytes; at += given.node_stride) {
    anyplace_graph_node node;
    std::memcpy(&node, &nodes_[at], sizeof(node));
    if (node.kind != ANYPLACE_GRAPH_NODE_HOST_FUNCTION) continue;
    node.user = calls.emplace_back(std::make_unique<GraphCall>(GraphCall{node.function, node.user})).get();
    node.function = &GraphCall::run;
    std::memcpy(&nodes_[at], &node, sizeof(node));
  }
  desc_.nodes = reinterpret_cast<const anyplace_graph_node*>(nodes_.data());
}

Graph make_graph(Engine& engine, Device& device, const anyplace_graph_desc& desc, const GraphSource& source,
                 const Sites::Frames& frames, std::vector<Report>& found) {
  Graph graph;
  graph.device = &device;
  // The paths take a bit for each pair of nodes.
  constexpr std::uint32_t most_checked = 16384;
  const bool is_checked = desc.node_count <= most_checked;
  Paths paths(is_checked ? desc.node_count : 0);
  std::vector<std::vector<Touch>> touches(desc.node_count);
  std::vector<std::uint32_t> names(desc.node_count);
  for (std::uint32_t i = 0; i < desc.node_count; ++i) {
    const auto& node = *reinterpret_cast<const anyplace_graph_node*>(reinterpret_cast<const char*>(desc.nodes) +
                                                                     std::size_t{i} * desc.node_stride);
    for (std::uint32_t d = 0; is_checked && d < node.dependency_count; ++d) paths.add(node.dependencies[d], i);
    if (node.kind == ANYPLACE_GRAPH_NODE_EVENT_WAIT) graph.waits.push_back(node.event);
    if (node.kind == ANYPLACE_GRAPH_NODE_EVENT_RECORD) graph.records.push_back(node.event);
    Graph::Node made;
    add_node(engine, device, node, source, made);
    if (made.touches.empty()) continue;
    made.name += " of a graph";
    names[i] = engine.operation(made.name, nullptr, frames, true);
    touches[i] = made.touches;
    graph.nodes.push_back(std::move(made));
  }
  if (!is_checked) return graph;
  const auto reaches = [&](std::uint32_t before, std::uint32_t node) { return paths.reaches(before, node); };
  for (Report& report : engine.check_graph(touches, names, device, reaches)) found.push_back(std::move(report));
  return graph;
}

}  // namespace anyplace::validate
