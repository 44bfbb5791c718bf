// SPDX-License-Identifier: Apache-2.0
#include "captures.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace anyplace::doubles {
namespace {

using GraphRef = std::shared_ptr<Graph>;
using GraphExecRef = std::shared_ptr<GraphExec>;

int find_graph(const Locked&, uint64_t handle, GraphRef& graph) {
  graph = state().graphs.find(handle);
  if (graph != nullptr) return 0;
  misused("of what is no graph, or no longer");
  return code::invalid_value;
}

int find_executable(const Locked&, uint64_t handle, GraphExecRef& exec) {
  exec = state().graph_execs.find(handle);
  if (exec != nullptr) return 0;
  misused("of what is no executable graph, or no longer");
  return code::invalid_value;
}

/// A node of that graph. Of another, or of none, is misuse.
int find_in(const Locked&, const Graph& graph, uint64_t handle, GraphNodeRef& node) {
  node = state().graph_nodes.find(handle);
  if (node != nullptr && node->graph == graph.handle) return 0;
  misused(node == nullptr ? "of what is no node, or no longer" : "of another graph's node");
  return code::invalid_value;
}

bool contains(const std::vector<uint64_t>& all, uint64_t handle) {
  return std::find(all.begin(), all.end(), handle) != all.end();
}

ContextRef current_if_any() {
  ContextRef current;
  static_cast<void>(current_context_to_release(current));
  return current;
}

/// Null where the nodes go round in a circle.
std::shared_ptr<GraphSteps> steps_of(const Graph& graph) {
  auto steps = std::make_shared<GraphSteps>();
  std::map<uint64_t, std::size_t> index;
  for (const GraphNodeRef& node : graph.nodes) index.emplace(node->handle, index.size());
  for (const GraphNodeRef& node : graph.nodes) {
    GraphStep& step = steps->nodes.emplace_back(GraphStep{node->work, {}});
    for (const uint64_t before : node->after) step.after.push_back(index.at(before));
  }
  std::vector<bool> placed(steps->nodes.size());
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < placed.size(); ++i) {
      const auto& after = steps->nodes[i].after;
      if (placed[i] || !std::all_of(after.begin(), after.end(), [&](std::size_t k) { return placed[k]; })) continue;
      placed[i] = more = true;
      steps->order.push_back(i);
    }
  }
  return steps->order.size() == placed.size() ? steps : nullptr;
}

/// The events of a launch's nodes as they are now.
int find_events(const Locked&, const GraphSteps& steps, std::vector<EventRef>& events) {
  events.resize(steps.nodes.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (steps.nodes[i].work.event == 0) continue;
    events[i] = state().events.find(steps.nodes[i].work.event);
    if (events[i] != nullptr) continue;
    misused("of a graph whose event is no longer");
    return code::invalid_value;
  }
  return 0;
}

/// One launch: the operations are ready, and go into their queues.
void submit_steps(const Locked& lock, GraphExec& exec, const StreamRef& stream, std::vector<Operation> operations,
                  const std::vector<EventRef>& events) {
  const GraphSteps& steps = *exec.steps;
  Operation first;
  first.after.push_back(exec.last);  // one launch at a time
  const CompletionRef begun = submit(lock, stream, std::move(first));
  for (std::size_t i = 0; i < events.size(); ++i) {
    // A wait is for what was recorded before the launch, whichever node runs first.
    if (steps.nodes[i].work.kind == NodeKind::wait) operations[i].after.push_back(events[i]->record);
  }
  std::vector<CompletionRef> done(operations.size());
  for (const std::size_t i : steps.order) {
    const GraphStep& step = steps.nodes[i];
    Operation& operation = operations[i];
    if (step.after.empty()) operation.after.push_back(begun);
    for (const std::size_t before : step.after) operation.after.push_back(done[before]);
    const Context& on = step.work.context != nullptr ? *step.work.context : *stream->context;
    const auto queue = std::make_shared<Queue>(on.device, stream->priority, on.fault);
    done[i] = state().engine.submit(queue, std::move(operation));
    if (step.work.kind == NodeKind::record) events[i]->record = done[i];
  }
  Operation last;
  last.work = Work::pass;
  last.after = std::move(done);
  exec.last = submit(lock, stream, std::move(last));
}

}  // namespace

int host_work(std::function<void()> function, NodeWork& work) {
  work.kind = NodeKind::host;
  work.prepare = [function = std::move(function)](const Context&) {
    Operation operation;
    operation.work = Work::host;
    operation.run = [function] {
      function();
      return 0;
    };
    return operation;
  };
  return 0;
}

int event_work(NodeKind kind, Word event, NodeWork& work) {
  const Locked lock(state().mutex);
  const EventRef found = state().events.find(event);
  if (found == nullptr) return code::invalid_value;
  work.kind = kind;
  work.event = event;
  if (kind == NodeKind::record) {
    work.context = found->context;
    return 0;
  }
  work.prepare = [](const Context&) {
    Operation operation;
    operation.work = Work::pass;
    return operation;
  };
  return 0;
}

// -- Graphs.

uint64_t Nodes::operator[](size_t index) const noexcept {
  uint64_t handle = 0;
  std::memcpy(&handle, static_cast<const unsigned char*>(handles) + index * sizeof(handle), sizeof(handle));
  return handle;
}

int create_graph(WordOut graph, unsigned flags) {
  if (graph.is_null() || flags != 0) return code::invalid_value;
  auto made = std::make_shared<Graph>();
  made->context = current_if_any();
  const Locked lock(state().mutex);
  made->handle = state().graphs.add(made);
  graph.write(made->handle);
  return 0;
}

int destroy_graph(Word graph) {
  GraphRef found;  // goes behind the lock
  const Locked lock(state().mutex);
  if (const int result = find_graph(lock, graph, found); result != 0) return result;
  for (const GraphNodeRef& node : found->nodes) state().graph_nodes.remove(node->handle);
  state().graphs.remove(graph);
  return 0;
}

int add_node(WordOut node, Word graph, Nodes after, NodeWork work) {
  if (node.is_null() || after.is_null()) return code::invalid_value;
  const Locked lock(state().mutex);
  GraphRef found;
  if (const int result = find_graph(lock, graph, found); result != 0) return result;
  auto made = std::make_shared<GraphNode>();
  for (size_t i = 0; i < after.count; ++i) {
    GraphNodeRef before;
    if (const int result = find_in(lock, *found, after[i], before); result != 0) return result;
    if (contains(made->after, after[i])) return code::invalid_value;
    made->after.push_back(after[i]);
  }
  made->graph = graph;
  made->work = std::move(work);
  made->handle = state().graph_nodes.add(made);
  found->nodes.push_back(made);
  node.write(made->handle);
  return 0;
}

int add_dependencies(Word graph, Nodes from, Nodes to) {
  if (from.is_null() || to.is_null()) return code::invalid_value;
  const Locked lock(state().mutex);
  GraphRef found;
  if (const int result = find_graph(lock, graph, found); result != 0) return result;
  std::vector<std::pair<GraphNodeRef, uint64_t>> edges;
  for (size_t i = 0; i < from.count; ++i) {
    GraphNodeRef begin;
    GraphNodeRef end;
    if (const int result = find_in(lock, *found, from[i], begin); result != 0) return result;
    if (const int result = find_in(lock, *found, to[i], end); result != 0) return result;
    const std::pair edge(end, from[i]);
    const bool again = std::find(edges.begin(), edges.end(), edge) != edges.end();
    if (begin == end || again || contains(end->after, from[i])) return code::invalid_value;
    edges.push_back(edge);
  }
  for (const auto& [end, begin] : edges) end->after.push_back(begin);
  return 0;
}

int destroy_node(Word node) {
  GraphNodeRef ended;  // goes behind the lock
  if (const int result = find_node(node, ended); result != 0) return result;
  const Locked lock(state().mutex);
  const GraphRef graph = state().graphs.find(ended->graph);
  std::erase(graph->nodes, ended);
  for (const GraphNodeRef& other : graph->nodes) std::erase(other->after, ended->handle);
  state().graph_nodes.remove(node);
  return 0;
}

int find_node(Word node, GraphNodeRef& found) {
  const Locked lock(state().mutex);
  found = state().graph_nodes.find(node);
  if (found != nullptr) return 0;
  misused("of what is no node, or no longer");
  return code::invalid_value;
}

namespace {

/// As the references have such lists: the number alone where `out` is null; else as many as there is room for, and the
/// rest of the room empty.
int write_list(const std::vector<uint64_t>& all, void* out, size_t* count) {
  if (count == nullptr) return code::invalid_value;
  if (out != nullptr) {
    for (size_t i = 0; i < *count; ++i) {
      const uint64_t handle = i < all.size() ? all[i] : 0;
      std::memcpy(static_cast<unsigned char*>(out) + i * sizeof(handle), &handle, sizeof(handle));
    }
  }
  if (out == nullptr || *count > all.size()) *count = all.size();
  return 0;
}

}  // namespace

int get_nodes(Word graph, void* nodes, size_t* count) {
  const Locked lock(state().mutex);
  GraphRef found;
  if (const int result = find_graph(lock, graph, found); result != 0) return result;
  std::vector<uint64_t> all;
  for (const GraphNodeRef& node : found->nodes) all.push_back(node->handle);
  return write_list(all, nodes, count);
}

// -- Executable graphs.

int make_executable(WordOut exec, Word graph) {
  if (exec.is_null()) return code::invalid_value;
  auto made = std::make_shared<GraphExec>();
  made->context = current_if_any();
  const Locked lock(state().mutex);
  GraphRef found;
  if (const int result = find_graph(lock, graph, found); result != 0) return result;
  made->steps = steps_of(*found);
  if (made->steps == nullptr) return code::invalid_value;
  made->handle = state().graph_execs.add(made);
  exec.write(made->handle);
  return 0;
}

int destroy_executable(Word exec) {
  GraphExecRef found;  // what runs of it keeps what it needs
  const Locked lock(state().mutex);
  if (const int result = find_executable(lock, exec, found); result != 0) return result;
  state().graph_execs.remove(exec);
  return 0;
}

int launch_graph(Word exec, Word stream) {
  StreamRef to;
  if (const int result = resolve_stream_for_work(stream, to); result != 0) return result;
  GraphExecRef found;
  std::shared_ptr<const GraphSteps> steps;
  {
    const Locked lock(state().mutex);
    if (const int refused = refuse_captured(lock, *to); refused != 0) return refused;  // there are no graphs in graphs
    if (const int result = find_executable(lock, exec, found); result != 0) return result;
    steps = found->steps;
    for (const GraphStep& step : steps->nodes) {
      if (step.work.context == nullptr) continue;
      if (!step.work.context->alive) return code::context_is_destroyed;
      if (const int fault = fault_of(*step.work.context); fault != 0) return fault;
    }
  }
  std::vector<Operation> operations;
  for (const GraphStep& step : steps->nodes) {
    const Context& on = step.work.context != nullptr ? *step.work.context : *to->context;
    operations.push_back(step.work.prepare ? step.work.prepare(on) : Operation{});
  }
  const Locked lock(state().mutex);
  if (found->steps != steps) {  // an update at the same time, which the references forbid
    misused("of a graph that another thread updates");
    return code::invalid_value;
  }
  std::vector<EventRef> events;
  if (const int result = find_events(lock, *steps, events); result != 0) return result;
  submit_steps(lock, *found, to, std::move(operations), events);
  return 0;
}

namespace {

/// What the references say of the i-th node: pairs are by the order in which nodes and edges were added.
UpdateResult compare(const GraphStep& old, const GraphStep& with) {
  if (old.work.kind != with.work.kind) return UpdateResult::node_type_changed;
  if (old.after.size() != with.after.size()) return UpdateResult::topology_changed;
  if (old.work.kind == NodeKind::kernel && old.work.context != with.work.context) {
    return UpdateResult::unsupported_function_change;
  }
  if (old.work.context != with.work.context || old.work.fixed != with.work.fixed) {
    return UpdateResult::parameters_changed;
  }
  return UpdateResult::success;
}

}  // namespace

int update_executable(Word exec, Word graph, UpdateOutcome& outcome) {
  outcome = {};
  const Locked lock(state().mutex);
  GraphExecRef found;
  GraphRef from;
  if (const int result = find_executable(lock, exec, found); result != 0) return result;
  if (const int result = find_graph(lock, graph, from); result != 0) return result;
  const std::shared_ptr<const GraphSteps> with = steps_of(*from);
  if (with == nullptr) return code::graph_update_failure;
  const auto fail = [&outcome](UpdateResult why, uint64_t node, uint64_t edge) {
    outcome = {why, node, edge};
    return code::graph_update_failure;
  };
  const std::vector<GraphStep>& old = found->steps->nodes;
  if (old.size() != with->nodes.size()) return fail(UpdateResult::topology_changed, 0, 0);
  for (std::size_t i = 0; i < old.size(); ++i) {
    const GraphNode& node = *from->nodes[i];
    const UpdateResult result = compare(old[i], with->nodes[i]);
    if (result != UpdateResult::success) return fail(result, node.handle, 0);
    for (std::size_t k = 0; k < old[i].after.size(); ++k) {
      if (old[i].after[k] == with->nodes[i].after[k]) continue;
      return fail(UpdateResult::topology_changed, node.handle, node.after[k]);
    }
  }
  found->steps = with;
  outcome.result = UpdateResult::success;
  return 0;
}

}  // namespace anyplace::doubles
