// SPDX-License-Identifier: Apache-2.0
//
// Graphs: work that is put together once and launched again and again, for less than submitting it each time.
//
// A graph is captured from a stream, or built node by node, and then made executable:
//
//   stream.begin_capture();
//   stream.copy(input, picture);                 // nothing runs now: each call becomes a node
//   stream.launch(blur, {blocks, 256}, output, input);
//   anyplace::Graph graph = stream.end_capture();
//   anyplace::GraphExec exec = graph.instantiate();
//   for (...) exec.launch(stream);               // all of it, in the stream's order
//   stream.synchronize();
//
// Every device has graphs. One with Capability::graphs launches a graph as one; for the others the library submits the
// nodes at each launch, over as many streams as there are branches. Both allow the same nodes, run them in the same
// order and refuse the same.
//
// Order. A captured node comes after the earlier work of its stream in the capture. Another stream joins the capture by
// waiting for an event that was recorded in it; it has to be waited for in turn before end_capture().
//
// Memory. A graph keeps what it uses: Buffers, HostBuffers and kernels that it names stay until it and its executables
// are gone, and their launches done, also if their owner lets them go. An address inside a structure that a kernel gets
// isn't seen; Graph::keep is for that. Buffers that are made on a captured stream come from the graph's own pool. Other
// memory of the host is read and written at each launch, and is the caller's to keep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "address.h"
#include "device.h"
#include "event.h"
#include "export.h"
#include "graph_types.h"
#include "kernel.h"
#include "memory.h"
#include "stream.h"

namespace anyplace {

namespace detail {
struct GraphState;
struct GraphExecState;
}  // namespace detail

/// Names a node of the graph that made it. Free to copy.
class GraphNode {
 public:
  constexpr GraphNode() noexcept = default;

  /// From 0, in the order in which the nodes were added: a node's dependencies have smaller numbers.
  constexpr std::uint32_t index() const noexcept { return index_; }
  friend constexpr bool operator==(GraphNode, GraphNode) noexcept = default;

 private:
  friend class Graph;
  constexpr GraphNode(std::uint64_t graph, std::uint32_t index) noexcept : graph_(graph), index_(index) {}

  std::uint64_t graph_ = 0;  ///< the number of its graph, which is never used again; 0: no node
  std::uint32_t index_ = 0;
};

/// The nodes that a new one comes after: {} for none, {a, b}, or any range of nodes.
class After {
 public:
  After() noexcept = default;
  /// All of a list: {a, b}.
  After(std::initializer_list<GraphNode> nodes) : nodes_(nodes) {}
  /// One node.
  After(GraphNode node) : nodes_{node} {}
  /// All of a range.
  After(std::span<const GraphNode> nodes) : nodes_(nodes.begin(), nodes.end()) {}
  /// All of a vector.
  After(const std::vector<GraphNode>& nodes) : nodes_(nodes) {}

  /// The nodes, in the order in which they were given.
  std::span<const GraphNode> nodes() const noexcept { return nodes_; }

 private:
  std::vector<GraphNode> nodes_;
};

/// What a graph tells about a node.
struct GraphNodeInfo {
  GraphNodeKind kind = GraphNodeKind::empty;  ///< what it does
  std::string label;                          ///< for people: a kernel's name, how many bytes are copied
  Device device;                              ///< the device that it runs on
  std::vector<GraphNode> dependencies;        ///< the nodes that it comes after, by their numbers
  GraphNode node;                             ///< the node that this is about
};

/// How a graph is made executable.
struct GraphExecOptions {
  /// Whether the device may launch the graph as one. If false, the library submits the nodes one by one in any case.
  bool native = true;
};

class GraphExec;

/// Owns a graph. Any thread may make nodes and ask for them; moving the graph meanwhile isn't safe. A null graph, such
/// as one that was moved from, throws invalid_handle. Every member can throw device_lost, forked, shut_down, and
/// not_permitted inside a host function or kernel.
class ANYPLACE_API Graph {
 public:
  Graph() noexcept = default;
  /// Makes an empty graph, which is launched on streams of `device`.
  explicit Graph(const Device& device);
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;
  Graph(const Graph&) = delete;  // it owns its nodes; a GraphExec has a copy of them
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  /// Whether there is a graph: false for one that was made without a device, and for one that was moved from.
  explicit operator bool() const noexcept { return state_ != nullptr; }
  /// The device on whose streams it is launched.
  Device device() const;

  // -- Nodes. Each comes after those of `after`, which are of this graph, else invalid_argument. A node does what the
  // call of a stream with that name does, and adding it throws what that throws. A node runs on the device of its
  // kernel, buffer or event; the devices of a graph are of one backend.
  /// A node that does nothing, to join what it comes after.
  GraphNode add_empty(const After& after);
  /// A launch of the kernel, as Stream::launch makes it. The arguments are copied now.
  template <class... Args>
  GraphNode add_kernel(const After& after, KernelView kernel, const LaunchConfig& config, const Args&... args) {
    return add(after, kernel.device(), "Graph::add_kernel",
               [&](const StreamView& stream) { stream.launch(kernel, config, args...); });
  }
  /// A launch of the kernel with arguments made at run time, as Stream::launch_arguments makes it.
  GraphNode add_kernel_arguments(const After& after, KernelView kernel, const LaunchConfig& config,
                                 std::span<const LaunchArgument> arguments);
  /// A copy between devices runs on a stream of the destination's device.
  GraphNode add_copy(const After& after, BufferView destination, ConstHostSpan source);
  /// A copy to memory of the host, which stays as long as the graph is launched.
  GraphNode add_copy(const After& after, HostSpan destination, BufferView source);
  /// A copy on one device or between two.
  GraphNode add_copy(const After& after, BufferView destination, BufferView source);
  /// A copy within memory of the host, which stays as long as the graph is launched.
  GraphNode add_copy(const After& after, HostSpan destination, ConstHostSpan source);
  /// A copy by address, as Stream::copy makes it.
  GraphNode add_copy(const After& after, Address destination, Address source, std::uint64_t bytes);
  /// A copy of `rows` lines of `width` bytes, as Stream::copy_2d makes it.
  GraphNode add_copy_2d(const After& after, BufferView destination, std::uint64_t destination_pitch, BufferView source,
                        std::uint64_t source_pitch, std::uint64_t width, std::uint64_t rows);
  /// A copy of lines by address, as Stream::copy_2d makes it.
  GraphNode add_copy_2d(const After& after, Address destination, std::uint64_t destination_pitch, Address source,
                        std::uint64_t source_pitch, std::uint64_t width, std::uint64_t rows);
  /// Fills the buffer with a byte.
  GraphNode add_memset8(const After& after, BufferView destination, std::uint8_t value);
  /// Fills the buffer with an integer of 16 bits.
  GraphNode add_memset16(const After& after, BufferView destination, std::uint16_t value);
  /// Fills the buffer with an integer of 32 bits.
  GraphNode add_memset32(const After& after, BufferView destination, std::uint32_t value);
  /// `function` is called at each launch.
  GraphNode add_host_function(const After& after, std::function<void()> function);
  /// The event is recorded at each launch; it can be waited for and asked as any other.
  GraphNode add_event_record(const After& after, EventView event);
  /// Waits, at each launch, for the record of the event that was the most recent before that launch, also where a node
  /// of the graph records the event.
  GraphNode add_event_wait(const After& after, EventView event);
  /// Adds all nodes that `child` has now. Throws invalid_argument for this graph itself, and for one of another
  /// backend.
  GraphNode add_child_graph(const After& after, const Graph& child);
  /// Makes `to` come after `from` as well. Throws invalid_argument if `from` comes after `to`, or is `to`, which would
  /// be a cycle. Nodes without another order run in the order of their numbers, so `from` must have the smaller one.
  void add_dependency(GraphNode from, GraphNode to);
  /// Keeps the buffer as if a node used it. Throws invalid_handle for a null one.
  void keep(BufferView buffer);
  /// Keeps the pinned memory as if a node used it. Throws invalid_handle for a null one.
  void keep(const HostBuffer& buffer);

  // -- The nodes of the graph.
  /// How many nodes there are.
  std::size_t size() const;
  /// How many nodes of that kind there are.
  std::size_t count(GraphNodeKind kind) const;
  /// All nodes, in the order of their numbers.
  std::vector<GraphNodeInfo> nodes() const;
  /// The nodes that no other comes after: whatever comes after these comes after all.
  std::vector<GraphNode> last_nodes() const;
  /// The graph as text for Graphviz.
  std::string to_dot() const;

  /// A copy of the graph as it is now, ready to be launched. Throws out_of_memory.
  GraphExec instantiate(GraphExecOptions options = {}) const;

 private:
  friend class GraphExec;
  friend class StreamView;
  GraphNode add(const After& after, const Device& device, const char* operation,
                const std::function<void(const StreamView&)>& submit);

  std::shared_ptr<detail::GraphState> state_;
};

/// Owns an executable graph. Any thread may call any member. Launches of one GraphExec never run at the same time: each
/// waits for the one before, whatever their streams are. Destroying it returns at once, and pending launches complete.
class ANYPLACE_API GraphExec {
 public:
  GraphExec() noexcept = default;
  GraphExec(GraphExec&& other) noexcept;
  GraphExec& operator=(GraphExec&& other) noexcept;
  GraphExec(const GraphExec&) = delete;  // it owns its nodes
  GraphExec& operator=(const GraphExec&) = delete;
  ~GraphExec();

  /// Whether there is an executable graph: false for one that was moved from.
  explicit operator bool() const noexcept { return state_ != nullptr; }
  /// The device on whose streams it is launched.
  Device device() const;
  /// Whether the device launches it as one (Capability::graphs). If not, its nodes are submitted one by one.
  bool is_native() const;
  /// How many nodes it launches: a child graph's in its place.
  std::size_t size() const;

  /// Launches the graph in the stream's order: after all work submitted before, and before all submitted later. The
  /// stream is of the graph's device, else invalid_argument. On a stream that is being captured the launch becomes a
  /// node. Faults are the stream's.
  void launch(const StreamView& stream) const;
  /// Gives launches from now on the work of `graph`; launches made before keep what they had. The graphs have the same
  /// kinds of nodes, on the same devices, with the same dependencies; else invalid_argument says which node differs,
  /// and nothing is changed.
  void update(const Graph& graph) const;

 private:
  friend class Graph;
  std::shared_ptr<detail::GraphExecState> state_;
};

}  // namespace anyplace
