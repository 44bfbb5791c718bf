// SPDX-License-Identifier: Apache-2.0
//
// What cases of graphs stand on: descriptions of them, and a device's memory, module and streams through the table.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <string>
#include <vector>

#include "plugin.h"
#include "support.h"

namespace vendor_test {

/// The nodes of a graph, which are added one by one. What a description points to lives as long as this.
class Nodes {
 public:
  using After = std::initializer_list<std::uint32_t>;

  std::uint32_t empty(After after = {}) { return add(ANYPLACE_GRAPH_NODE_EMPTY, after); }
  /// The kernel `fill` of the suite's, over `count` numbers.
  std::uint32_t fill(anyplace_kernel kernel, anyplace_address numbers, std::uint32_t count, std::uint32_t value,
                     After after = {}) {
    Launch& made = launches_.emplace_back();
    made.address = numbers;
    made.count = count;
    made.value = value;
    made.arguments[0] = {ANYPLACE_ARGUMENT_ADDRESS, 8, &made.address};
    made.arguments[1] = {ANYPLACE_ARGUMENT_VALUE, 4, &made.count};
    made.arguments[2] = {ANYPLACE_ARGUMENT_VALUE, 4, &made.value};
    made.launch.struct_size = sizeof(made.launch);
    made.launch.grid[0] = (count + 63) / 64;
    made.launch.grid[1] = made.launch.grid[2] = made.launch.block[1] = made.launch.block[2] = 1;
    made.launch.block[0] = 64;
    made.launch.argument_count = 3;
    made.launch.argument_stride = sizeof(anyplace_argument);
    made.launch.arguments = made.arguments;
    const std::uint32_t index = add(ANYPLACE_GRAPH_NODE_KERNEL, after);
    nodes_[index].kernel = kernel;
    nodes_[index].launch = &made.launch;
    return index;
  }
  std::uint32_t copy(std::uint32_t kind, anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                     After after = {}) {
    return copy_2d({sizeof(anyplace_copy_2d), kind, destination, bytes, source, bytes, bytes, 1}, after);
  }
  std::uint32_t copy_2d(const anyplace_copy_2d& lines, After after = {}) {
    const std::uint32_t index = add(ANYPLACE_GRAPH_NODE_COPY, after);
    nodes_[index].copy = &copies_.emplace_back(lines);
    return index;
  }
  std::uint32_t set(anyplace_address address, std::uint32_t value, std::uint32_t width, std::uint64_t count,
                    After after = {}) {
    const std::uint32_t index = add(ANYPLACE_GRAPH_NODE_MEMSET, after);
    nodes_[index].address = address;
    nodes_[index].value = value;
    nodes_[index].width = width;
    nodes_[index].count = count;
    return index;
  }
  std::uint32_t call(anyplace_host_function function, void* user, After after = {}) {
    const std::uint32_t index = add(ANYPLACE_GRAPH_NODE_HOST_FUNCTION, after);
    nodes_[index].function = function;
    nodes_[index].user = user;
    return index;
  }
  std::uint32_t event(std::uint32_t kind, anyplace_event event, After after = {}) {
    const std::uint32_t index = add(kind, after);
    nodes_[index].event = event;
    return index;
  }
  anyplace_graph_node& operator[](std::uint32_t index) { return nodes_[index]; }

  anyplace_graph_desc desc() const {
    return {sizeof(anyplace_graph_desc), static_cast<std::uint32_t>(nodes_.size()), sizeof(anyplace_graph_node), 0,
            nodes_.data()};
  }

 private:
  struct Launch {
    anyplace_address address = 0;
    std::uint32_t count = 0;
    std::uint32_t value = 0;
    anyplace_argument arguments[3]{};
    anyplace_launch launch{};
  };

  std::uint32_t add(std::uint32_t kind, After after) {
    const std::vector<std::uint32_t>& kept = dependencies_.emplace_back(after);
    anyplace_graph_node node{};
    node.kind = kind;
    node.dependency_count = static_cast<std::uint32_t>(kept.size());
    node.dependencies = kept.data();
    nodes_.push_back(node);
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  std::vector<anyplace_graph_node> nodes_;
  std::deque<std::vector<std::uint32_t>> dependencies_;
  std::deque<anyplace_copy_2d> copies_;
  std::deque<Launch> launches_;
};

/// A host function that counts its calls.
struct Count {
  std::atomic<int> made{0};
  std::atomic<int> failed{0};  ///< of those, with another status than OK

  static void call(void* user, anyplace_status status) {
    auto& to = *static_cast<Count*>(user);
    if (status != ANYPLACE_STATUS_OK) ++to.failed;
    ++to.made;
  }
};

/// A host function that waits until it is let go.
struct Latch {
  std::atomic<bool> open{false};

  void let_go() {
    open = true;
    open.notify_all();
  }
  static void call(void* user, anyplace_status) { static_cast<Latch*>(user)->open.wait(false); }
};

/// Device 0 through the table: a stream, numbers and the suite's kernel `fill`.
class Graphs {
 public:
  static constexpr std::uint32_t count = 256;  ///< numbers that `a` and `b` have
  static constexpr std::uint64_t bytes = count * 4;

  explicit Graphs(Variables variables = {}) : driver(variables) {
    stream = plugin.make_stream(0);
    for (anyplace_address* memory : {&a, &b}) {
      Plugin::check(plugin->memory_allocate(self(), 0, ANYPLACE_MEMORY_DEVICE, bytes, memory));
    }
    const std::string image = read_image(any_image);
    anyplace_module_desc desc{};
    desc.struct_size = sizeof(desc);
    desc.format = image_format;
    desc.image = image.data();
    desc.image_bytes = image.size();
    Plugin::check(plugin->module_load(self(), 0, &desc, &module));
    Plugin::check(plugin->module_kernel(self(), module, "fill", &kernel));
  }
  Graphs(const Graphs&) = delete;  // it gives everything back
  Graphs& operator=(const Graphs&) = delete;
  ~Graphs() {
    CHECK(plugin->module_unload(self(), module) == ANYPLACE_STATUS_OK);
    for (const anyplace_address memory : {a, b}) {
      CHECK(plugin->memory_free(self(), 0, ANYPLACE_MEMORY_DEVICE, memory) == ANYPLACE_STATUS_OK);
    }
    CHECK(plugin->stream_destroy(self(), stream) == ANYPLACE_STATUS_OK);
  }

  void* self() const noexcept { return plugin.self(); }
  anyplace_status create(const Nodes& nodes, anyplace_graph& graph) const {
    const anyplace_graph_desc desc = nodes.desc();
    return plugin->graph_create(self(), 0, &desc, &graph);
  }
  anyplace_graph make(const Nodes& nodes) const {
    anyplace_graph graph = 0;
    Plugin::check(create(nodes, graph));
    return graph;
  }
  anyplace_status update(anyplace_graph graph, const Nodes& nodes) const {
    const anyplace_graph_desc desc = nodes.desc();
    return plugin->graph_update(self(), graph, &desc);
  }
  void launch(anyplace_graph graph) const { Plugin::check(plugin->graph_launch(self(), graph, stream)); }
  void destroy(anyplace_graph graph) const { Plugin::check(plugin->graph_destroy(self(), graph)); }
  void synchronize() const { plugin.synchronize(stream); }
  anyplace_event make_event() const {
    const anyplace_event_desc desc{sizeof(desc), 0};
    anyplace_event event = 0;
    Plugin::check(plugin->event_create(self(), 0, &desc, &event));
    return event;
  }
  bool is_done(anyplace_event event) const {
    std::int32_t done = 0;
    Plugin::check(plugin->event_query(self(), event, &done));
    return done != 0;
  }
  /// What is in the memory once the stream's work is done.
  std::vector<std::uint32_t> read(anyplace_address memory) const {
    std::vector<std::uint32_t> found(count);
    Plugin::check(plugin->memory_copy(self(), stream, address(found), memory, bytes, ANYPLACE_COPY_DEVICE_TO_HOST));
    synchronize();
    return found;
  }
  static std::vector<std::uint32_t> all(std::uint32_t value) { return std::vector<std::uint32_t>(count, value); }
  template <class Numbers>
  static anyplace_address address(Numbers& numbers) {
    return reinterpret_cast<anyplace_address>(numbers.data());
  }

  Double driver;
  Plugin plugin;
  anyplace_stream stream = 0;
  anyplace_address a = 0, b = 0;
  anyplace_module module = 0;
  anyplace_kernel kernel = 0;
};

}  // namespace vendor_test
