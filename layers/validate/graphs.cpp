// SPDX-License-Identifier: Apache-2.0
#include "graphs.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <utility>

#include "host_functions.h"
#include "other_threads.h"
#include "touches.h"

namespace anyplace::validate {
namespace {

Report race_of_nodes(Engine& engine, const Graph& graph, const GraphHostFunction::Declaration& first,
                     const GraphHostFunction::Declaration& second) {
  const Range both{std::max(first.touch.range.begin, second.touch.range.begin),
                   std::min(first.touch.range.end, second.touch.range.end)};
  const auto side = [&](const GraphHostFunction::Declaration& one) {
    return engine.side(one.operation, one.touch.writes ? "write" : "read", one.touch.range, one.touch.space);
  };
  Report report;
  report.kind = "race";
  report.place = graph.device->place;
  report.bytes = both.bytes();
  report.what = std::to_string(both.bytes()) + " bytes are accessed by two nodes of a graph without an order";
  report.first = side(first);
  report.second = side(second);
  report.why = "no path of dependencies leads from one node to the other";
  report.mend =
      "in the capture, call wait_event() on the second node's stream for an event recorded behind the first, or "
      "wait_stream()";
  return report;
}

bool conflict(const Touch& one, const Touch& other) {
  return one.space == other.space && one.range.overlaps(other.range) && (one.writes || other.writes);
}

/// The races among the nodes, by what is known of them when the graph is made.
void check_nodes(Engine& engine, const Graph& graph, std::vector<Report>& found) {
  struct Seen {
    const Graph::Node* node;
    const Touch* touch;
  };
  std::map<Space, std::multimap<std::uint64_t, Seen>> seen;
  std::uint64_t longest = 0;
  for (const Graph::Node& node : graph.nodes) {
    for (const Touch& touch : node.touches) {
      auto& others = seen[touch.space];
      const std::uint64_t from = touch.range.begin > longest ? touch.range.begin - longest : 0;
      for (auto other = others.lower_bound(from); other != others.end() && other->first < touch.range.end; ++other) {
        const Graph::Node& before = *other->second.node;
        const Touch& its = *other->second.touch;
        if (&before == &node || !conflict(its, touch) || graph.paths.reaches(before.number, node.number)) continue;
        found.push_back(race_of_nodes(engine, graph, {its, before.operation}, {touch, node.operation}));
      }
    }
    for (const Touch& touch : node.touches) {
      seen[touch.space].emplace(touch.range.begin, Seen{&node, &touch});
      longest = std::max(longest, touch.range.bytes());
    }
  }
}

/// Returns whether the node is a host function of the application's.
bool add_node(Engine& engine, Device& device, const anyplace_graph_node& node, const GraphSource& source,
              Graph::Node& out) {
  switch (node.kind) {
    case ANYPLACE_GRAPH_NODE_KERNEL: {
      out.name = source.kernel(node.kernel);
      std::vector<Declared> declared = source.declared(node.launch);
      add_launch(engine, device, *node.launch, declared, out.touches);
      break;
    }
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
    case ANYPLACE_GRAPH_NODE_HOST_FUNCTION:
      if (const std::optional<anyplace_copy_2d> copy = source.own_function(node.user)) {
        out.name = host_copy_name(*copy);
        add_copy(engine, device, *copy, out.touches);
        break;
      }
      out.name = "host function";
      return true;
    default:
      break;
  }
  for (Touch& touch : out.touches) {
    touch.at_the_call = false;  // a launch reads in its stream's order
    const Allocation* const allocation = engine.allocation_at(touch.space, touch.range.begin);
    if (allocation != nullptr && allocation->is_live) touch.allocation = allocation->id;
  }
  return false;
}

}  // namespace

void Paths::add(std::uint32_t before, std::uint32_t node) {
  for (std::size_t i = 0; i < words_; ++i) bits_[node * words_ + i] |= bits_[before * words_ + i];
  bits_[node * words_ + before / 64] |= std::uint64_t{1} << before % 64;
}

// ---- Host functions ------------------------------------------------------------------------------------------------

void GraphHostFunction::run(void* self, anyplace_status status) {
  auto& call = *static_cast<GraphHostFunction*>(self);
  Engine& engine = Engine::only();
  std::shared_ptr<Stream> at;
  if (is_held(call.runs + 1, *call.graph->device)) wait_for_other_threads();
  {
    const std::lock_guard lock(engine.mutex);
    ++call.runs;
    call.declared.clear();
    if (!call.launches.empty()) at = call.launches.front();
    // As any host function it may tell other threads that the work before it is done.
    if (at != nullptr && status == ANYPLACE_STATUS_OK) engine.host_saw(at->clock);
  }
  ThreadState& thread = this_thread();
  thread.at = at.get();
  thread.in_graph = &call;
  call.function(call.user, status);
  thread.at = nullptr;
  thread.in_graph = nullptr;
  const std::lock_guard lock(engine.mutex);
  if (at != nullptr) call.launches.pop_front();  // the graph may go from now on
}

void GraphHostFunction::declare(Engine& engine, const Touch& touch, std::uint32_t operation,
                                std::vector<Report>& found) {
  constexpr std::size_t most = 256;  // declarations of a run that are remembered
  const Declaration mine{touch, operation};
  const auto compare = [&](std::uint32_t other, const Declaration& its) {
    if (!conflict(its.touch, touch) || graph->paths.reaches(other, node) || graph->paths.reaches(node, other)) return;
    found.push_back(other < node ? race_of_nodes(engine, *graph, its, mine) : race_of_nodes(engine, *graph, mine, its));
  };
  for (const Graph::Node& other : graph->nodes) {
    if (!graph->has_paths || other.number == node) continue;
    for (const Touch& its : other.touches) compare(other.number, {its, other.operation});
    // Of the other host functions those count which have run for this launch already; the others compare themselves.
    if (other.function == nullptr || other.function->runs != runs) continue;
    for (const Declaration& its : other.function->declared) compare(other.number, its);
  }
  if (declared.size() < most) declared.push_back(mine);
}

bool Graph::is_idle() const noexcept {
  return std::all_of(functions.begin(), functions.end(), [](const auto& one) { return one->launches.empty(); });
}

// ---- Making --------------------------------------------------------------------------------------------------------

anyplace_graph_node node_of(const anyplace_graph_desc& desc, std::uint32_t i) {
  anyplace_graph_node node{};
  std::memcpy(&node, reinterpret_cast<const unsigned char*>(desc.nodes) + std::size_t{i} * desc.node_stride,
              std::min<std::size_t>(desc.node_stride, sizeof(node)));
  return node;
}

GraphWithCalls::GraphWithCalls(const anyplace_graph_desc& given, const Graph& graph) : desc_(given) {
  const std::size_t stride = given.node_stride;
  const auto* const first = reinterpret_cast<const unsigned char*>(given.nodes);
  nodes_.assign(first, first + given.node_count * stride);
  for (const auto& call : graph.functions) {
    anyplace_graph_node node = node_of(given, call->node);
    node.function = &GraphHostFunction::run;
    node.user = call.get();
    std::memcpy(&nodes_[call->node * stride], &node, std::min(stride, sizeof(node)));
  }
  desc_.nodes = reinterpret_cast<const anyplace_graph_node*>(nodes_.data());
}

std::unique_ptr<Graph> make_graph(Engine& engine, Device& device, const anyplace_graph_desc& desc,
                                  const GraphSource& source, const Sites::Frames& frames, std::vector<Report>& found) {
  auto graph = std::make_unique<Graph>();
  graph->device = &device;
  // The paths take a bit for each pair of nodes.
  constexpr std::uint32_t most_checked = 16384;
  graph->has_paths = desc.node_count <= most_checked;
  if (graph->has_paths) graph->paths = Paths(desc.node_count);
  for (std::uint32_t i = 0; i < desc.node_count; ++i) {
    const anyplace_graph_node node = node_of(desc, i);
    for (std::uint32_t d = 0; graph->has_paths && d < node.dependency_count; ++d) {
      graph->paths.add(node.dependencies[d], i);
    }
    if (node.kind == ANYPLACE_GRAPH_NODE_EVENT_WAIT) graph->waits.push_back(node.event);
    if (node.kind == ANYPLACE_GRAPH_NODE_EVENT_RECORD) graph->records.push_back(node.event);
    Graph::Node made;
    made.number = i;
    if (add_node(engine, device, node, source, made)) {
      auto& call = *graph->functions.emplace_back(std::make_unique<GraphHostFunction>());
      call.graph = graph.get();
      call.node = i;
      call.function = node.function;
      call.user = node.user;
      made.function = &call;
    }
    if (made.touches.empty() && made.function == nullptr) continue;
    made.name += " of a graph";
    made.operation = engine.operation(made.name, nullptr, frames, true);
    graph->nodes.push_back(std::move(made));
  }
  if (graph->has_paths) check_nodes(engine, *graph, found);
  return graph;
}

// ---- Launching -----------------------------------------------------------------------------------------------------

GraphLaunch launch_graph(Engine& engine, Graph& graph, Stream& stream, const Sites::Frames& frames) {
  GraphLaunch launch;
  engine.begin(stream);
  launch.first = stream.number;
  std::vector<std::uint32_t> operations;
  std::vector<Report> found;
  for (const Graph::Node& node : graph.nodes) {
    operations.push_back(engine.operation(node.name, &stream, frames, true));
    for (Report& report : engine.check(node.touches, &stream, operations.back())) found.push_back(std::move(report));
  }
  launch.refused = engine.publish(std::move(found));
  if (!launch.refused.empty()) return launch;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    engine.begin_node(stream);
    const Graph::Node& node = graph.nodes[i];
    engine.remember(node.touches, &stream, operations[i]);
    if (node.function != nullptr) node.function->launches.push_back(std::make_shared<Stream>(stream));
  }
  launch.last = stream.number;
  return launch;
}

void undo_launch(Engine& engine, Graph& graph, const Stream& stream, const GraphLaunch& launch) {
  for (const Graph::Node& node : graph.nodes) {
    engine.undo(node.touches, stream, launch.first, launch.last);
    if (node.function != nullptr && !node.function->launches.empty()) node.function->launches.pop_back();
  }
}

}  // namespace anyplace::validate
