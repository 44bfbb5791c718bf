// SPDX-License-Identifier: Apache-2.0
// Graph: making nodes and asking for them.
#include "anyplace/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "graphs/graph_state.h"
#include "graphs/live_graphs.h"
#include "plugins/device_properties.h"
#include "runtime/call.h"
#include "streams/node_addresses.h"

namespace anyplace {

namespace detail {

namespace {

std::atomic<std::uint64_t> last_number{0};

}  // namespace

GraphState::GraphState(DeviceState& of)
    : device(&of), number(last_number.fetch_add(1, std::memory_order_relaxed) + 1), nodes(std::make_shared<Capture>()) {
  nodes->device = &of;
}

std::shared_ptr<GraphState> GraphState::make(DeviceState& of) {
  auto made = std::make_shared<GraphState>(of);
  note_live(made);
  return made;
}

GraphState::~GraphState() {
  for (HelperStream& builder : builders) detach_builder(*builder);
}

StreamState& GraphState::builder_for(DeviceState& on, const char* operation) {
  for (HelperStream& builder : builders) {
    if (builder->device == &on) return *builder;
  }
  if (on.backend != device->backend) {
    fail(ErrorCode::invalid_argument, device->place, operation,
         fmt::format("the graph is of {}, and the node would be on {}\na graph's devices are of one backend",
                     device->place, on.place));
  }
  builders.reserve(builders.size() + 1);
  HelperStream builder = take_helper_stream(on, operation);
  attach_builder(*builder, nodes);
  builders.push_back(std::move(builder));
  return *builders.back();
}

GraphContent GraphState::content() const {
  GraphContent copy;
  copy.device = device;
  copy.list = nodes->list;
  copy.buffers = buffers;
  copy.pools = pools;
  return copy;
}

GraphState& state_of(const std::shared_ptr<GraphState>& state, const char* operation) {
  enter(operation);
  if (state == nullptr) {
    fail(ErrorCode::invalid_handle, "", operation, "the graph is null\nit was never made, or was moved from");
  }
  require_not_ended(state->ended, *state->device, "graph", operation);
  return *state;
}

}  // namespace detail

using detail::state_of;

Graph::Graph(const Device& device) {
  constexpr const char* operation = "Graph";
  detail::enter(operation);
  detail::require_usable(*device.state(), operation);
  state_ = detail::GraphState::make(*device.state());
}

Graph::Graph(Graph&&) noexcept = default;

Graph& Graph::operator=(Graph&& other) noexcept {
  if (this != &other) {
    if (!detail::process_running()) detail::leak(std::move(state_));
    state_ = std::move(other.state_);
  }
  return *this;
}

Graph::~Graph() {
  if (!detail::process_running()) detail::leak(std::move(state_));
}

Device Graph::device() const { return Device(state_of(state_, "Graph::device").device); }

// ---- Making nodes --------------------------------------------------------------------------------------------------

namespace {

std::vector<std::uint32_t> numbers_of(const detail::GraphState& state, const After& after,
                                      std::uint64_t (*graph_of)(GraphNode), const char* operation) {
  std::vector<std::uint32_t> numbers;
  for (const GraphNode node : after.nodes()) {
    if (graph_of(node) != state.number || node.index() >= state.nodes->list.nodes.size()) {
      detail::fail(ErrorCode::invalid_argument, state.device->place, operation,
                   "a node that this one would come after isn't of this graph\nname nodes that this graph's add_ calls "
                   "returned\nsee docs/graphs.md");
    }
    detail::join_fronts(numbers, {node.index()});
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

GraphNode Graph::add(const After& after, const Device& device, const char* operation,
                     const std::function<void(const StreamView&)>& submit) {
  detail::GraphState& state = state_of(state_, operation);
  detail::require_usable(*state.device, operation);
  detail::require_usable(*device.state(), operation);
  const std::lock_guard lock(state.mutex);
  const auto graph_of = [](GraphNode node) { return node.graph_; };
  std::vector<std::uint32_t> front = numbers_of(state, after, graph_of, operation);
  detail::StreamState& builder = state.builder_for(*device.state(), operation);
  detail::NodeList& list = state.nodes->list;
  const std::size_t before = list.nodes.size();
  // Some calls make several nodes, so all of them are removed if one fails.
  const auto undo = [&] {
    list.nodes.erase(list.nodes.begin() + static_cast<std::ptrdiff_t>(before), list.nodes.end());
  };
  try {
    detail::set_builder_front(builder, front);
    submit(StreamView(builder.id));
    front = detail::take_builder_front(builder);
    // A copy of no bytes makes no node. An empty node stands for it, because the caller gets a GraphNode.
    if (list.nodes.size() == before) front.assign(1, list.add(detail::EmptyWork(), *builder.device, front));
    const std::vector<std::shared_ptr<detail::HeldBuffer>> used =
        detail::hold_buffers(detail::addresses_of(list, before), nullptr);
    state.buffers.insert(state.buffers.end(), used.begin(), used.end());
  } catch (const Error& error) {
    undo();
    throw detail::renamed(error, operation);
  } catch (...) {
    undo();
    throw;
  }
  return GraphNode(state.number, front.front());
}

GraphNode Graph::add_empty(const After& after) {
  return add(after, device(), "Graph::add_empty", [](const StreamView&) {});
}

GraphNode Graph::add_kernel_arguments(const After& after, KernelView kernel, const LaunchConfig& config,
                                      std::span<const LaunchArgument> arguments) {
  return add(after, kernel.device(), "Graph::add_kernel_arguments",
             [&](const StreamView& stream) { stream.launch_arguments(kernel, config, arguments); });
}

GraphNode Graph::add_copy(const After& after, BufferView destination, ConstHostSpan source) {
  const Device on = destination ? destination.device() : device();
  return add(after, on, "Graph::add_copy", [&](const StreamView& stream) { stream.copy(destination, source); });
}

GraphNode Graph::add_copy(const After& after, HostSpan destination, BufferView source) {
  const Device on = source ? source.device() : device();
  return add(after, on, "Graph::add_copy", [&](const StreamView& stream) { stream.copy(destination, source); });
}

GraphNode Graph::add_copy(const After& after, BufferView destination, BufferView source) {
  const Device on = destination ? destination.device() : device();
  return add(after, on, "Graph::add_copy", [&](const StreamView& stream) { stream.copy(destination, source); });
}

GraphNode Graph::add_copy(const After& after, HostSpan destination, ConstHostSpan source) {
  return add(after, device(), "Graph::add_copy", [&](const StreamView& stream) { stream.copy(destination, source); });
}

GraphNode Graph::add_copy(const After& after, Address destination, Address source, std::uint64_t bytes) {
  return add(after, device(), "Graph::add_copy",
             [&](const StreamView& stream) { stream.copy(destination, source, bytes); });
}

GraphNode Graph::add_copy_2d(const After& after, BufferView destination, std::uint64_t destination_pitch,
                             BufferView source, std::uint64_t source_pitch, std::uint64_t width, std::uint64_t rows) {
  const Device on = destination ? destination.device() : device();
  return add(after, on, "Graph::add_copy_2d", [&](const StreamView& stream) {
    stream.copy_2d(destination, destination_pitch, source, source_pitch, width, rows);
  });
}

GraphNode Graph::add_copy_2d(const After& after, Address destination, std::uint64_t destination_pitch, Address source,
                             std::uint64_t source_pitch, std::uint64_t width, std::uint64_t rows) {
  return add(after, device(), "Graph::add_copy_2d", [&](const StreamView& stream) {
    stream.copy_2d(destination, destination_pitch, source, source_pitch, width, rows);
  });
}

GraphNode Graph::add_memset8(const After& after, BufferView destination, std::uint8_t value) {
  const Device on = destination ? destination.device() : device();
  return add(after, on, "Graph::add_memset8", [&](const StreamView& stream) { stream.memset8(destination, value); });
}

GraphNode Graph::add_memset16(const After& after, BufferView destination, std::uint16_t value) {
  const Device on = destination ? destination.device() : device();
  return add(after, on, "Graph::add_memset16", [&](const StreamView& stream) { stream.memset16(destination, value); });
}

GraphNode Graph::add_memset32(const After& after, BufferView destination, std::uint32_t value) {
  const Device on = destination ? destination.device() : device();
  return add(after, on, "Graph::add_memset32", [&](const StreamView& stream) { stream.memset32(destination, value); });
}

GraphNode Graph::add_host_function(const After& after, std::function<void()> function) {
  return add(after, device(), "Graph::add_host_function",
             [&](const StreamView& stream) { stream.launch_host_func(std::move(function)); });
}

GraphNode Graph::add_event_record(const After& after, EventView event) {
  return add(after, event.device(), "Graph::add_event_record",
             [&](const StreamView& stream) { stream.record_external_event(event); });
}

GraphNode Graph::add_event_wait(const After& after, EventView event) {
  return add(after, device(), "Graph::add_event_wait",
             [&](const StreamView& stream) { stream.wait_external_event(event); });
}

GraphNode Graph::add_child_graph(const After& after, const Graph& child) {
  constexpr const char* operation = "Graph::add_child_graph";
  const detail::GraphState& state = state_of(state_, operation);
  detail::GraphState& inner = state_of(child.state_, operation);
  if (&state == &inner) {
    detail::fail(ErrorCode::invalid_argument, state.device->place, operation,
                 "the child is this graph itself, which would be a cycle\nadd another graph");
  }
  std::shared_ptr<const detail::GraphContent> content;
  {
    const std::lock_guard lock(inner.mutex);
    // The child's own children are flattened here, so that graphs may be nested to any depth.
    content = detail::flatten(inner.content());
  }
  return add(after, child.device(), operation, [&](const StreamView& stream) {
    const detail::Pin<detail::StreamState> builder = detail::streams().pin(stream.id(), operation);
    detail::divert(*builder, detail::ChildWork{std::move(content)}, operation);
  });
}

namespace {

bool comes_after(const detail::NodeList& list, std::uint32_t later, std::uint32_t earlier) {
  std::vector<bool> seen(list.nodes.size());
  std::vector<std::uint32_t> open{later};
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    if (node == earlier) return true;
    if (seen[node]) continue;
    seen[node] = true;
    const detail::Node& at = list.nodes[node];
    for (std::uint32_t d = 0; d < at.dependency_count; ++d) open.push_back(list.dependencies[at.first_dependency + d]);
  }
  return false;
}

}  // namespace

void Graph::add_dependency(GraphNode from, GraphNode to) {
  constexpr const char* operation = "Graph::add_dependency";
  detail::GraphState& state = state_of(state_, operation);
  detail::require_usable(*state.device, operation);
  const std::lock_guard lock(state.mutex);
  const auto graph_of = [](GraphNode node) { return node.graph_; };
  static_cast<void>(numbers_of(state, {from, to}, graph_of, operation));
  detail::NodeList& list = state.nodes->list;
  if (comes_after(list, from.index(), to.index())) {
    detail::fail(
        ErrorCode::invalid_argument, state.device->place, operation,
        fmt::format("node {} comes after node {} already, or is it: that would be a cycle\nleave the dependency "
                    "out\nsee docs/graphs.md",
                    from.index(), to.index()));
  }
  if (from.index() > to.index()) {
    detail::fail(ErrorCode::invalid_argument, state.device->place, operation,
                 fmt::format("node {} was added after node {}, and nodes come after earlier ones\nadd it first\nsee "
                             "docs/graphs.md",
                             from.index(), to.index()));
  }
  if (comes_after(list, to.index(), from.index())) return;
  detail::Node& node = list.nodes[to.index()];
  const auto first = static_cast<std::uint32_t>(list.dependencies.size());
  list.dependencies.reserve(first + node.dependency_count + 1);
  for (std::uint32_t d = 0; d < node.dependency_count; ++d) {
    list.dependencies.push_back(list.dependencies[node.first_dependency + d]);
  }
  list.dependencies.push_back(from.index());
  node.first_dependency = first;
  ++node.dependency_count;
}

void Graph::keep(BufferView buffer) {
  constexpr const char* operation = "Graph::keep";
  detail::GraphState& state = state_of(state_, operation);
  detail::Pin<detail::BufferState> pinned = detail::buffers().pin(buffer.id(), operation);
  const std::lock_guard lock(state.mutex);
  state.buffers.push_back(std::make_shared<detail::HeldBuffer>(std::move(pinned)));
}

void Graph::keep(const HostBuffer& buffer) {
  constexpr const char* operation = "Graph::keep";
  detail::GraphState& state = state_of(state_, operation);
  std::shared_ptr<detail::HeldBuffer> held = detail::hold_host_buffer(reinterpret_cast<std::uintptr_t>(buffer.data()));
  if (held == nullptr) {
    detail::fail(ErrorCode::invalid_handle, state.device->place, operation,
                 "the host buffer is null\nit was never made, was moved from, or has 0 bytes");
  }
  const std::lock_guard lock(state.mutex);
  state.buffers.push_back(std::move(held));
}

// ---- Asking --------------------------------------------------------------------------------------------------------

std::size_t Graph::size() const {
  detail::GraphState& state = state_of(state_, "Graph::size");
  const std::lock_guard lock(state.mutex);
  return state.nodes->list.nodes.size();
}

std::size_t Graph::count(GraphNodeKind kind) const {
  detail::GraphState& state = state_of(state_, "Graph::count");
  const std::lock_guard lock(state.mutex);
  const std::vector<detail::Node>& nodes = state.nodes->list.nodes;
  return static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), [&](const detail::Node& node) {
    return detail::kind_of(node.work) == static_cast<std::uint32_t>(kind);
  }));
}

std::vector<GraphNodeInfo> Graph::nodes() const {
  detail::GraphState& state = state_of(state_, "Graph::nodes");
  const std::lock_guard lock(state.mutex);
  const detail::NodeList& list = state.nodes->list;
  std::vector<GraphNodeInfo> all;
  for (const detail::Node& node : list.nodes) {
    GraphNodeInfo info{static_cast<GraphNodeKind>(detail::kind_of(node.work)),
                       detail::label_of(node.work),
                       Device(node.device),
                       {},
                       GraphNode(state.number, static_cast<std::uint32_t>(all.size()))};
    for (std::uint32_t d = 0; d < node.dependency_count; ++d) {
      info.dependencies.push_back(GraphNode(state.number, list.dependencies[node.first_dependency + d]));
    }
    all.push_back(std::move(info));
  }
  return all;
}

std::vector<GraphNode> Graph::last_nodes() const {
  detail::GraphState& state = state_of(state_, "Graph::last_nodes");
  const std::lock_guard lock(state.mutex);
  const detail::NodeList& list = state.nodes->list;
  std::vector<bool> is_last(list.nodes.size(), true);
  for (const detail::Node& node : list.nodes) {
    for (std::uint32_t d = 0; d < node.dependency_count; ++d) {
      is_last[list.dependencies[node.first_dependency + d]] = false;
    }
  }
  std::vector<GraphNode> last;
  for (std::size_t i = 0; i < is_last.size(); ++i) {
    if (is_last[i]) last.push_back(GraphNode(state.number, static_cast<std::uint32_t>(i)));
  }
  return last;
}

namespace {

std::string in_quotes(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + '"';
}

}  // namespace

std::string Graph::to_dot() const {
  const std::string place = device().to_string();
  std::string dot = "digraph anyplace {\n  node [shape=box];\n";
  std::uint32_t index = 0;
  for (const GraphNodeInfo& node : nodes()) {
    const std::string on = node.device.to_string();
    dot += fmt::format("  n{} [label={}];\n", index,
                       in_quotes(on == place ? fmt::format("{}: {}", index, node.label)
                                             : fmt::format("{}: {}, {}", index, node.label, on)));
    for (const GraphNode before : node.dependencies) dot += fmt::format("  n{} -> n{};\n", before.index(), index);
    ++index;
  }
  return dot + "}\n";
}

}  // namespace anyplace
