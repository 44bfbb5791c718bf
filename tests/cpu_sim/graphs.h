// SPDX-License-Identifier: Apache-2.0
//
// Graphs through the plugin's table: a list of nodes, and the graph that is made of it.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "plugin.h"

namespace cpu_sim_test {

using After = std::vector<std::uint32_t>;
using Functions = std::deque<std::function<void()>>;

/// The nodes of a graph, in the order in which they were added. Each call returns the node's index.
class GraphNodes {
 public:
  std::uint32_t empty(After after) { return add(ANYPLACE_GRAPH_NODE_EMPTY, std::move(after)); }
  std::uint32_t kernel(const Kernel& kernel, After after, Grid grid = {}, std::vector<anyplace_argument> arguments = {},
                       std::uint64_t shared_bytes = 0) {
    const std::uint32_t node = add(ANYPLACE_GRAPH_NODE_KERNEL, std::move(after));
    Data& data = data_.back();
    data.arguments = std::move(arguments);
    data.launch.struct_size = sizeof(data.launch);
    data.launch.grid[0] = grid.x, data.launch.grid[1] = grid.y, data.launch.grid[2] = grid.z;
    data.launch.block[0] = data.launch.block[1] = data.launch.block[2] = 1;
    data.launch.argument_count = static_cast<std::uint32_t>(data.arguments.size());
    data.launch.argument_stride = sizeof(anyplace_argument);
    data.launch.arguments = data.arguments.data();
    data.launch.shared_bytes = shared_bytes;
    data.node.kernel = kernel.handle;
    data.node.launch = &data.launch;
    return node;
  }
  std::uint32_t copy(void* destination, const void* source, std::uint64_t bytes, After after) {
    return copy_2d(destination, bytes, source, bytes, bytes, 1, std::move(after));
  }
  std::uint32_t copy_2d(void* destination, std::uint64_t destination_pitch, const void* source,
                        std::uint64_t source_pitch, std::uint64_t width, std::uint64_t rows, After after) {
    const std::uint32_t node = add(ANYPLACE_GRAPH_NODE_COPY, std::move(after));
    Data& data = data_.back();
    data.copy = {sizeof(data.copy),
                 ANYPLACE_COPY_HOST_TO_DEVICE,
                 reinterpret_cast<std::uint64_t>(destination),
                 destination_pitch,
                 reinterpret_cast<std::uint64_t>(source),
                 source_pitch,
                 width,
                 rows};
    data.node.copy = &data.copy;
    return node;
  }
  std::uint32_t copy_peer(std::int32_t to, std::uint64_t destination, std::int32_t from, std::uint64_t source,
                          std::uint64_t bytes, After after) {
    const std::uint32_t node = add(ANYPLACE_GRAPH_NODE_COPY, std::move(after));
    Data& data = data_.back();
    data.copy = {sizeof(data.copy), ANYPLACE_COPY_DEVICE_TO_DEVICE, destination, bytes, source, bytes, bytes, 1};
    data.node.copy = &data.copy;
    data.node.destination_device = to;
    data.node.source_device = from;
    return node;
  }
  std::uint32_t fill(void* at, std::uint32_t value, std::uint32_t width, std::uint64_t count, After after) {
    const std::uint32_t node = add(ANYPLACE_GRAPH_NODE_MEMSET, std::move(after));
    anyplace_graph_node& fill = data_.back().node;
    fill.address = reinterpret_cast<std::uint64_t>(at);
    fill.count = count, fill.value = value, fill.width = width;
    return node;
  }
  std::uint32_t host(std::function<void()> body, After after) {
    const std::uint32_t node = add(ANYPLACE_GRAPH_NODE_HOST_FUNCTION, std::move(after));
    functions_->push_back(std::move(body));
    data_.back().node.function = [](void* user, anyplace_status) { (*static_cast<std::function<void()>*>(user))(); };
    data_.back().node.user = &functions_->back();
    return node;
  }
  std::uint32_t record(const Event& event, After after) {
    return with_event(ANYPLACE_GRAPH_NODE_EVENT_RECORD, event, std::move(after));
  }
  std::uint32_t wait(const Event& event, After after) {
    return with_event(ANYPLACE_GRAPH_NODE_EVENT_WAIT, event, std::move(after));
  }
  std::uint32_t of_kind(std::uint32_t kind, After after) { return add(kind, std::move(after)); }

  std::vector<anyplace_graph_node> array() const {
    std::vector<anyplace_graph_node> nodes;
    for (const Data& data : data_) nodes.push_back(data.node);
    return nodes;
  }
  std::shared_ptr<Functions> functions() const { return functions_; }

 private:
  struct Data {
    anyplace_graph_node node{};
    After after;
    std::vector<anyplace_argument> arguments;
    anyplace_launch launch{};
    anyplace_copy_2d copy{};
  };

  std::uint32_t add(std::uint32_t kind, After after) {
    data_.emplace_back();
    Data& data = data_.back();
    data.after = std::move(after);
    data.node.kind = kind;
    data.node.dependency_count = static_cast<std::uint32_t>(data.after.size());
    data.node.dependencies = data.after.data();
    return static_cast<std::uint32_t>(data_.size() - 1);
  }
  std::uint32_t with_event(std::uint32_t kind, const Event& event, After after) {
    const std::uint32_t node = add(kind, std::move(after));
    data_.back().node.event = event.handle;
    return node;
  }

  std::deque<Data> data_;
  std::shared_ptr<Functions> functions_ = std::make_shared<Functions>();
};

/// Destroyed when no launch of it is pending.
class Graph {
 public:
  Graph(Plugin& plugin, const GraphNodes& nodes, std::int32_t device = 0) : plugin_(plugin) {
    const std::vector<anyplace_graph_node> array = nodes.array();
    const anyplace_graph_desc desc = desc_of(array);
    check(plugin->graph_create(plugin.self(), device, &desc, &handle));
    functions_.push_back(nodes.functions());
  }
  ~Graph() { destroy(); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(Stream& stream) { check(plugin_->graph_launch(plugin_.self(), handle, stream.handle)); }
  void update(const GraphNodes& nodes) {
    const std::vector<anyplace_graph_node> array = nodes.array();
    const anyplace_graph_desc desc = desc_of(array);
    check(plugin_->graph_update(plugin_.self(), handle, &desc));
    functions_.push_back(nodes.functions());
  }
  void destroy() {
    if (const anyplace_graph graph = std::exchange(handle, 0)) plugin_->graph_destroy(plugin_.self(), graph);
  }

  anyplace_graph handle = 0;

 private:
  static anyplace_graph_desc desc_of(const std::vector<anyplace_graph_node>& array) {
    return {sizeof(anyplace_graph_desc), static_cast<std::uint32_t>(array.size()),
            static_cast<std::uint32_t>(sizeof(anyplace_graph_node)), 0, array.data()};
  }

  Plugin& plugin_;
  std::vector<std::shared_ptr<Functions>> functions_;
};

/// An argument that is the value of `value`, which outlives the call it is given to.
template <class T>
anyplace_argument argument_of(const T& value, std::uint32_t kind = ANYPLACE_ARGUMENT_VALUE) {
  return {kind, sizeof(value), &value};
}

}  // namespace cpu_sim_test
