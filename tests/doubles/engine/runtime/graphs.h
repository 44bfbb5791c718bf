// SPDX-License-Identifier: Apache-2.0
//
// Graphs of CUDA's driver and of HIP: nodes that a program adds one by one, what is made executable of them, and its
// launches. A double's entry says how the vendor's parameters of a node become a NodeWork.
//
// A launch is in its stream from a first point, behind which the nodes begin, to a last one that waits for all. Each
// node has a queue of its own in between, so that branches run beside each other as far as the device has workers.
//
// Stricter than the references: a graph, a node or an executable graph that is none is noted as misuse, as is a launch
// with something that is gone: memory, a module, an event.
#pragma once

#include "calls.h"

namespace anyplace::doubles {

enum class NodeKind : uint8_t { kernel, copy, fill, host, empty, wait, record };

/// What a node does at each launch.
struct NodeWork {
  NodeKind kind = NodeKind::empty;
  ContextRef context;  // on which it runs; null: that of the launch
  /// The operation of one launch in that context. Called without State::mutex. Empty: nothing runs.
  std::function<Operation(const Context& on)> prepare;
  uint64_t event = 0;           // of wait and record: the handle
  FunctionRef function;         // of kernel
  std::vector<uint64_t> fixed;  // what an update may not change, of nodes of the kind
};

struct GraphNode {
  uint64_t handle = 0;
  uint64_t graph = 0;  // whose it is
  NodeWork work;
  std::vector<uint64_t> after;  // handles of nodes
};
using GraphNodeRef = std::shared_ptr<GraphNode>;

struct Graph {
  uint64_t handle = 0;
  ContextRef context;               // that was current when it was made; may be null
  std::vector<GraphNodeRef> nodes;  // in the order in which they were added
};

/// One node of an executable graph. `after` are indices.
struct GraphStep {
  NodeWork work;
  std::vector<std::size_t> after;
};
struct GraphSteps {
  std::vector<GraphStep> nodes;    // in the order in which they were added
  std::vector<std::size_t> order;  // in which each comes behind those that it waits for
};

struct GraphExec {
  uint64_t handle = 0;
  ContextRef context;                       // as the graph's
  std::shared_ptr<const GraphSteps> steps;  // another object after an update
  CompletionRef last;                       // of the most recent launch
};

// -- What nodes do. Each checks what a call for a stream checks, and leaves the rest to the launch.

int kernel_work(const FunctionRef& function, const KernelShape& shape, const std::vector<const void*>& values,
                NodeWork& work);
int copy_work(const ContextRef& context, const Copy& copy, NodeWork& work);
/// Element: uint8_t, uint16_t or uint32_t.
template <class Element>
int fill_work(const ContextRef& context, const Fill& fill, Element value, NodeWork& work);
int host_work(std::function<void()> function, NodeWork& work);
/// kind: wait or record.
int event_work(NodeKind kind, Word event, NodeWork& work);

// -- Graphs.

/// The dependencies of a call, or of its ends: an array of handles that may be null if it is empty.
struct Nodes {
  const void* handles = nullptr;
  size_t count = 0;
  bool is_null() const noexcept { return handles == nullptr && count != 0; }
  uint64_t operator[](size_t index) const noexcept;
};

int create_graph(WordOut graph, unsigned flags);
int destroy_graph(Word graph);
int add_node(WordOut node, Word graph, Nodes after, NodeWork work);
/// An edge that is there already is an error; a circle is found when the graph is made executable.
int add_dependencies(Word graph, Nodes from, Nodes to);
int destroy_node(Word node);
/// `nodes` may be null: then `count` alone is written.
int get_nodes(Word graph, void* nodes, size_t* count);
int find_node(Word node, GraphNodeRef& found);

int make_executable(WordOut exec, Word graph);
int launch_graph(Word exec, Word stream);
int destroy_executable(Word exec);

/// Why an update wasn't made, with the numbers of both vendors.
enum class UpdateResult : int {
  success = 0,
  error = 1,
  topology_changed = 2,
  node_type_changed = 3,
  parameters_changed = 5,
  unsupported_function_change = 7,
};
struct UpdateOutcome {
  UpdateResult result = UpdateResult::error;
  uint64_t node = 0;  // of the graph, that is to blame
  uint64_t from = 0;  // the beginning of the edge that is
};
/// code::graph_update_failure if the graph can't be had by an update.
int update_executable(Word exec, Word graph, UpdateOutcome& outcome);

}  // namespace anyplace::doubles
