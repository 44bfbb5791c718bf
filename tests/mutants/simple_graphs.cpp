// SPDX-License-Identifier: Apache-2.0
#include "simple_graphs.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace anyplace::mutants {
namespace {

Flaw the_flaw = Flaw::none;
bool is(Flaw flaw) { return the_flaw == flaw; }

// ---- What a graph is made of

struct Node {
  anyplace_graph_node node{};
  std::vector<uint32_t> dependencies;
  anyplace_copy_2d copy{};
  anyplace_launch launch{};
  std::vector<anyplace_argument> arguments;
  std::vector<std::vector<unsigned char>> values;
  anyplace_event waited = 0;  ///< for Flaw::wait_of_creation
};
using Nodes = std::vector<std::unique_ptr<Node>>;

struct Graph {
  int32_t device = 0;
  std::mutex mutex;                    // guards what follows
  std::shared_ptr<const Nodes> nodes;  ///< never null
  int launches = 0;
  anyplace_stream first_stream = 0;

  std::shared_ptr<const Nodes> now() {
    const std::lock_guard lock(mutex);
    return nodes;
  }
};

/// Events by the device that they are of.
Notes<anyplace_event, int32_t> event_devices;
/// The side stream of a launch that its stream doesn't wait for before its next piece of work.
Notes<anyplace_stream, anyplace_stream> unjoined;

Graph& graph_of(anyplace_graph handle) { return *reinterpret_cast<Graph*>(handle); }

void copy_launch(Node& to, const anyplace_launch& launch) {
  to.launch = launch;
  for (uint32_t i = 0; i < launch.argument_count; ++i) {
    anyplace_argument argument{};
    std::memcpy(&argument,
                reinterpret_cast<const unsigned char*>(launch.arguments) + uint64_t{i} * launch.argument_stride,
                sizeof(argument));
    const auto* const value = static_cast<const unsigned char*>(argument.value);
    to.values.emplace_back(value, value + argument.size);
    if (!is(Flaw::arguments_not_copied)) argument.value = to.values.back().data();
    to.arguments.push_back(argument);
  }
  to.launch.arguments = to.arguments.data();
  to.launch.argument_stride = sizeof(anyplace_argument);
  if (is(Flaw::grid_flat)) to.launch.grid[1] = to.launch.grid[2] = 1;
  if (is(Flaw::no_shared_memory)) to.launch.shared_bytes = 0;
}

/// An event that is complete when the event's record of now is.
anyplace_event record_of_now(void* self, int32_t device, anyplace_event event) {
  anyplace_stream stream = 0;
  anyplace_stream_desc desc{};
  desc.struct_size = sizeof(desc);
  const anyplace_event kept = new_event(self, device);
  real.stream_create(self, device, &desc, &stream);
  real.stream_wait_event(self, stream, event);
  real.event_record(self, kept, stream);
  return kept;
}

std::unique_ptr<Node> copy_node(void* self, int32_t device, const anyplace_graph_node& from) {
  auto node = std::make_unique<Node>();
  node->node = from;
  node->dependencies.assign(from.dependencies, from.dependencies + from.dependency_count);
  if (from.kind == ANYPLACE_GRAPH_NODE_COPY) {
    node->copy = *from.copy;
    if (!is(Flaw::copy_not_copied)) node->node.copy = &node->copy;
  }
  if (from.kind == ANYPLACE_GRAPH_NODE_KERNEL) copy_launch(*node, *from.launch);
  const bool waits = from.kind == ANYPLACE_GRAPH_NODE_EVENT_WAIT;
  if (waits && is(Flaw::wait_of_creation)) node->waited = record_of_now(self, device, from.event);
  return node;
}

Nodes copy_nodes(void* self, int32_t device, const anyplace_graph_desc& desc, bool of_update = false) {
  Nodes nodes;
  const bool side_by_side = is(Flaw::stride_ignored) || (of_update && is(Flaw::stride_of_update_ignored));
  const uint64_t stride = side_by_side ? sizeof(anyplace_graph_node) : desc.node_stride;
  for (uint32_t i = 0; i < desc.node_count; ++i) {
    anyplace_graph_node node{};
    std::memcpy(&node, reinterpret_cast<const unsigned char*>(desc.nodes) + i * stride, sizeof(node));
    if (node.kind == 0 || node.kind > ANYPLACE_GRAPH_NODE_EVENT_WAIT) node = {};
    nodes.push_back(copy_node(self, device, node));
  }
  if (is(Flaw::last_node_dropped)) nodes.back()->node.kind = ANYPLACE_GRAPH_NODE_EMPTY;
  if (is(Flaw::node_dropped)) nodes[nodes.size() / 2]->node.kind = ANYPLACE_GRAPH_NODE_EMPTY;
  if (is(Flaw::nodes_swapped) && nodes.size() > 1) std::swap(nodes[nodes.size() - 2], nodes[nodes.size() - 1]);
  return nodes;
}

/// What a backend says that takes no other graph than it was written for.
Status refusal_of(const anyplace_graph_desc& desc) {
  if (is(Flaw::all_refused)) return ANYPLACE_STATUS_UNSUPPORTED;
  if (is(Flaw::desc_size_refused) && desc.struct_size != sizeof(desc)) return ANYPLACE_STATUS_INVALID_ARGUMENT;
  for (uint32_t i = 0; i < desc.node_count; ++i) {
    anyplace_graph_node node{};
    std::memcpy(&node, reinterpret_cast<const unsigned char*>(desc.nodes) + uint64_t{i} * desc.node_stride,
                sizeof(node));
    if (is(Flaw::empty_refused) && node.kind == ANYPLACE_GRAPH_NODE_EMPTY) return ANYPLACE_STATUS_UNSUPPORTED;
    const bool copy = is(Flaw::copy_size_refused) && node.kind == ANYPLACE_GRAPH_NODE_COPY;
    if (copy && node.copy->struct_size != sizeof(*node.copy)) return ANYPLACE_STATUS_INVALID_ARGUMENT;
    const bool launch = is(Flaw::launch_size_refused) && node.kind == ANYPLACE_GRAPH_NODE_KERNEL;
    if (launch && node.launch->struct_size != sizeof(*node.launch)) return ANYPLACE_STATUS_INVALID_ARGUMENT;
  }
  return ok;
}

bool is_peer_copy(const anyplace_graph_node& node) {
  return node.kind == ANYPLACE_GRAPH_NODE_COPY && node.destination_device != node.source_device;
}

// ---- Streams beside the launch's

void follow(void* self, int32_t device, anyplace_stream later, anyplace_stream earlier) {
  const anyplace_event event = new_event(self, device);
  real.event_record(self, event, earlier);
  real.stream_wait_event(self, later, event);
  real.event_destroy(self, event);
}

// ---- Nodes

Status submit_copy(void* self, anyplace_stream stream, const anyplace_graph_node& node) {
  anyplace_copy_2d copy = *node.copy;
  if (is_peer_copy(node)) {
    // The device of the stream is the graph's: the side stream is made of what the stream is known as.
    if (is(Flaw::peer_copy_ahead) || is(Flaw::peer_copy_left_behind)) {
      const anyplace_stream side = side_stream(self, stream);
      if (is(Flaw::peer_copy_left_behind)) follow(self, streams.get(stream).device, side, stream);
      if (is(Flaw::peer_copy_ahead)) {
        const Status status = real.memory_copy_peer(self, side, node.destination_device, copy.destination,
                                                    node.source_device, copy.source, copy.width);
        follow(self, streams.get(stream).device, stream, side);
        return status;
      }
      stream = side;
    }
    return real.memory_copy_peer(self, stream, node.destination_device, copy.destination, node.source_device,
                                 copy.source, copy.width);
  }
  if (copy.rows == 1) return real.memory_copy(self, stream, copy.destination, copy.source, copy.width, copy.kind);
  if (is(Flaw::row_missing)) --copy.rows;
  if (is(Flaw::pitch_ignored)) copy.destination_pitch = copy.width;
  return real.memory_copy_2d(self, stream, &copy);
}

/// What a fill that is looked up when it runs writes.
struct LateFill {
  Graph* graph;
  std::size_t index;
};

void fill_late(void* user, Status) {
  const std::unique_ptr<LateFill> late(static_cast<LateFill*>(user));
  const anyplace_graph_node& node = (*late->graph->now())[late->index]->node;
  for (uint64_t i = 0; i < node.count; ++i) {
    std::memcpy(reinterpret_cast<unsigned char*>(node.address) + i * node.width, &node.value, node.width);
  }
}

Status submit_fill(void* self, anyplace_stream stream, const anyplace_graph_node& node) {
  uint64_t count = node.count;
  if (is(Flaw::fill_by_bytes)) return real.memory_set(self, stream, node.address, node.value, 1, count * node.width);
  if (is(Flaw::fill_too_short) && node.width == 2) count /= 2;
  if (node.width == 4) return count == 0 ? ok : real.memory_set(self, stream, node.address, node.value, 4, count);
  // Two of the elements are filled as one of twice the width, where their number is even.
  const uint32_t twice = node.value << (8 * node.width) | (node.value & ((1u << (8 * node.width)) - 1));
  const bool widens = count % 2 == 0;
  if (is(Flaw::fill_from_even_address) && widens) {
    return real.memory_set(self, stream, node.address / (2 * node.width) * (2 * node.width), twice, 2 * node.width,
                           count / 2);
  }
  const bool even_address = node.address % (2 * node.width) == 0;
  if (is(Flaw::fill_of_pairs) && count > 1 && even_address) {
    return real.memory_set(self, stream, node.address, twice, 2 * node.width, count / 2);
  }
  if (is(Flaw::fill_to_even_end) && even_address) {
    return real.memory_set(self, stream, node.address, twice, 2 * node.width, (count + 1) / 2);
  }
  if (is(Flaw::fill_value_unmasked) && node.value >> (8 * node.width) != 0) {
    return real.memory_set(self, stream, node.address, node.value >> (8 * node.width), node.width, count);
  }
  return count == 0 ? ok : real.memory_set(self, stream, node.address, node.value, node.width, count);
}

Status submit_call(void* self, anyplace_stream stream, const anyplace_graph_node& node, int launches) {
  if (is(Flaw::called_once) && launches > 1) return ok;
  if (is(Flaw::called_by_the_caller)) {
    node.function(node.user, ok);
    return ok;
  }
  if (is(Flaw::called_early)) stream = side_stream(self, stream);
  const Status status = real.stream_host_function(self, stream, node.function, node.user);
  if (status != ok || !is(Flaw::called_twice)) return status;
  return real.stream_host_function(self, stream, node.function, node.user);
}

Status submit_node(void* self, Graph& graph, const Nodes& nodes, std::size_t index, anyplace_stream stream,
                   int launches) {
  const Node& of = *nodes[index];
  const anyplace_graph_node& node = of.node;
  switch (node.kind) {
    case ANYPLACE_GRAPH_NODE_KERNEL:
      return real.kernel_launch(self, stream, node.kernel, &of.launch);
    case ANYPLACE_GRAPH_NODE_COPY:
      return submit_copy(self, stream, node);
    case ANYPLACE_GRAPH_NODE_MEMSET:
      if (!is(Flaw::update_of_earlier_launches)) return submit_fill(self, stream, node);
      return real.stream_host_function(self, stream, fill_late, new LateFill{&graph, index});
    case ANYPLACE_GRAPH_NODE_HOST_FUNCTION:
      return submit_call(self, stream, node, launches);
    case ANYPLACE_GRAPH_NODE_EVENT_RECORD:
      if (is(Flaw::not_recorded) || is(Flaw::recorded_first) || is(Flaw::recorded_last)) return ok;
      return real.event_record(self, node.event, stream);
    case ANYPLACE_GRAPH_NODE_EVENT_WAIT:
      if (is(Flaw::wait_ignored)) return ok;
      if (is(Flaw::wait_for_other_device_ignored) && event_devices.get(node.event) != graph.device) return ok;
      return real.stream_wait_event(self, stream, of.waited != 0 ? of.waited : node.event);
    default:
      return ok;
  }
}

// ---- Launches

void record_all(void* self, const Nodes& nodes, anyplace_stream stream) {
  for (const auto& node : nodes) {
    if (node->node.kind == ANYPLACE_GRAPH_NODE_EVENT_RECORD) real.event_record(self, node->node.event, stream);
  }
}

/// The stream for a node that has to lose an order, else the launch's.
anyplace_stream lane_of(void* self, const Node& node, std::size_t index, anyplace_stream stream) {
  const bool aside = (is(Flaw::dependencies_ignored) && index % 2 == 1) ||
                     (is(Flaw::one_dependency_counts) && node.dependencies.size() > 1) ||
                     (is(Flaw::branch_left_behind) && index > 0 && node.dependencies.empty());
  return aside ? side_stream(self, stream) : stream;
}

Status submit_nodes(void* self, Graph& graph, const Nodes& nodes, anyplace_stream stream, int launches) {
  if (is(Flaw::recorded_first)) record_all(self, nodes, stream);
  // Nodes aside come after what the stream did before the launch, and after what was submitted when their first
  // dependency was.
  std::vector<anyplace_event> behind(nodes.size());
  anyplace_stream aside = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const anyplace_stream lane = lane_of(self, *nodes[i], i, stream);
    if (lane != stream && aside == 0) {
      aside = lane;
      if (!is(Flaw::one_dependency_counts) && i == 0) follow(self, graph.device, lane, stream);
    }
    if (lane != stream && is(Flaw::one_dependency_counts)) {
      real.stream_wait_event(self, lane, behind[nodes[i]->dependencies.front()]);
    }
    const Status status = submit_node(self, graph, nodes, i, lane, launches);
    if (status != ok) return status;
    if (is(Flaw::one_dependency_counts)) {
      behind[i] = new_event(self, graph.device);
      real.event_record(self, behind[i], lane);
    }
  }
  for (const anyplace_event event : behind) {
    if (event != 0) real.event_destroy(self, event);
  }
  if (aside != 0 && !is(Flaw::branch_left_behind)) follow(self, graph.device, stream, aside);
  if (is(Flaw::recorded_last)) record_all(self, nodes, stream);
  return ok;
}

/// The launch's stream waits for it when it gets something else to do, or is asked.
Status join(void* self, anyplace_stream stream) {
  const anyplace_stream side = unjoined.take(stream);
  if (side != 0) follow(self, streams.get(stream).device, stream, side);
  return ok;
}

bool is_idle(void* self, anyplace_stream stream) {
  int32_t done = 0;
  real.stream_query(self, stream, &done);
  return done != 0;
}

/// A launch of a stream of which the rule of the null stream is forgotten, if the flaw is about that one.
bool launch_without_rule(void* self, Graph& graph, const Nodes& nodes, anyplace_stream stream, int launches,
                         Status& status) {
  const StreamNote note = streams.get(stream);
  const bool blocking = !note.null && (note.flags & ANYPLACE_STREAM_BLOCKING) != 0;
  const bool ahead =
      (is(Flaw::ahead_of_the_null_stream) && blocking) || (is(Flaw::null_ahead_of_blocking) && note.null);
  const bool apart =
      (is(Flaw::apart_from_the_null_stream) && blocking) || (is(Flaw::null_apart_from_blocking) && note.null);
  if (!apart && !(ahead && is_idle(self, stream))) return false;
  const anyplace_stream side = side_stream(self, stream);
  if (apart) {
    join(self, stream);
    follow(self, graph.device, side, stream);
  }
  status = submit_nodes(self, graph, nodes, side, launches);
  if (apart) unjoined.set(stream, side);
  if (ahead) follow(self, graph.device, stream, side);
  return true;
}

anyplace_stream null_stream(void* self, int32_t device) {
  anyplace_stream stream = 0;
  anyplace_stream_desc desc{};
  desc.struct_size = sizeof(desc);
  real.stream_default(self, device, &desc, &stream);
  return stream;
}

Status launch(void* self, anyplace_graph handle, anyplace_stream stream) {
  Graph& graph = graph_of(handle);
  std::shared_ptr<const Nodes> nodes;
  int launches = 0;
  anyplace_stream first = 0;
  {
    const std::lock_guard lock(graph.mutex);
    nodes = graph.nodes;
    launches = ++graph.launches;
    if (launches == 1) graph.first_stream = stream;
    first = graph.first_stream;
  }
  if (is(Flaw::launched_once) && launches > 1) return ok;
  if (is(Flaw::fifth_launch_lost) && launches % 5 == 0) return ok;
  if (is(Flaw::fifth_launch_twice) && launches % 5 == 0) submit_nodes(self, graph, *nodes, stream, launches);
  if (is(Flaw::on_the_null_stream)) stream = null_stream(self, graph.device);
  if (is(Flaw::on_the_first_device) && graph.device != 0) stream = null_stream(self, 0);
  Status of_flaw = ok;
  if (launch_without_rule(self, graph, *nodes, stream, launches, of_flaw)) return of_flaw;
  if (is(Flaw::faults_of_the_first_stream)) {
    const anyplace_stream side = side_stream(self, first);
    follow(self, graph.device, side, stream);
    const Status status = submit_nodes(self, graph, *nodes, side, launches);
    follow(self, graph.device, stream, side);
    return status;
  }
  if (!is(Flaw::ahead_of_the_stream) && !is(Flaw::behind_the_stream)) {
    return submit_nodes(self, graph, *nodes, stream, launches);
  }
  const anyplace_stream side = side_stream(self, stream);
  if (is(Flaw::behind_the_stream)) follow(self, graph.device, side, stream);
  const Status status = submit_nodes(self, graph, *nodes, side, launches);
  if (is(Flaw::ahead_of_the_stream)) follow(self, graph.device, stream, side);
  return status;
}

// ---- The other entries

Status create(void* self, int32_t device, const anyplace_graph_desc* desc, anyplace_graph* out) {
  if (const Status refused = refusal_of(*desc); refused != ok) return refused;
  auto graph = std::make_unique<Graph>();
  graph->device = device;
  graph->nodes = std::make_shared<const Nodes>(copy_nodes(self, device, *desc));
  *out = reinterpret_cast<anyplace_graph>(graph.release());
  return ok;
}

/// Why these nodes can't take the place of those: a kernel's arguments are more, or a copy leaves the device.
Status failure_of(const Nodes& nodes, const Nodes& old) {
  if (!is(Flaw::failed_update_half) && !is(Flaw::failed_update_whole) && !is(Flaw::failed_update_empties)) return ok;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i]->arguments.size() > old[i]->arguments.size()) return ANYPLACE_STATUS_INVALID_ARGUMENT;
    if (is_peer_copy(nodes[i]->node) && !is_peer_copy(old[i]->node)) return ANYPLACE_STATUS_UNSUPPORTED;
  }
  return ok;
}

Status update(void* self, anyplace_graph handle, const anyplace_graph_desc* desc) {
  Graph& graph = graph_of(handle);
  if (is(Flaw::update_ignored)) return ok;
  if (is(Flaw::update_leaks)) lose();
  if (const Status refused = refusal_of(*desc); refused != ok) return refused;
  Nodes nodes = copy_nodes(self, graph.device, *desc, true);
  const std::lock_guard lock(graph.mutex);
  // The graph's nodes are replaced as one: who launches has the old ones or the new.
  const auto keep_old = [&](std::size_t i) {
    auto kept = std::make_unique<Node>();
    const Node& old = *(*graph.nodes)[i];
    *kept = old;
    kept->node.copy = &kept->copy;
    for (std::size_t a = 0; a < kept->values.size(); ++a) kept->arguments[a].value = kept->values[a].data();
    kept->launch.arguments = kept->arguments.data();
    nodes[i] = std::move(kept);
  };
  const Status failed = failure_of(nodes, *graph.nodes);
  if (failed != ok && is(Flaw::failed_update_empties)) {
    for (auto& node : nodes) node->node.kind = ANYPLACE_GRAPH_NODE_EMPTY;
  }
  if (failed != ok && is(Flaw::failed_update_half)) keep_old(nodes.size() - 1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const uint32_t kind = nodes[i]->node.kind;
    if (is(Flaw::update_without_records) && kind == ANYPLACE_GRAPH_NODE_EVENT_RECORD) keep_old(i);
    if (is(Flaw::update_without_waits) && kind == ANYPLACE_GRAPH_NODE_EVENT_WAIT) keep_old(i);
    if (is(Flaw::update_without_peer_copies) && is_peer_copy(nodes[i]->node)) keep_old(i);
    if (is(Flaw::update_half) && i >= (nodes.size() + 1) / 2) keep_old(i);
    if (is(Flaw::update_without_arguments) && nodes[i]->node.kind == ANYPLACE_GRAPH_NODE_KERNEL) keep_old(i);
  }
  graph.nodes = std::make_shared<const Nodes>(std::move(nodes));
  return failed;
}

Status destroy(void*, anyplace_graph handle) {
  Graph* const graph = &graph_of(handle);
  if (is(Flaw::destroyed_leaks)) return ok;
  if (is(Flaw::unlaunched_leaks) && graph->launches == 0) return ok;
  if (is(Flaw::update_of_earlier_launches)) return ok;  // its fills look at it
  delete graph;
  return ok;
}

}  // namespace

namespace {

void note_events(Table& table) {
  table.event_create = [](void* self, int32_t device, const anyplace_event_desc* desc, anyplace_event* out) {
    const Status status = real.event_create(self, device, desc, out);
    if (status == ok) event_devices.set(*out, device);
    return status;
  };
}

void join_before_anything(Table& table) {
  before_submissions(table, join);
  table.stream_query = [](void* self, anyplace_stream stream, int32_t* done) {
    join(self, stream);
    return real.stream_query(self, stream, done);
  };
  table.stream_synchronize = [](void* self, anyplace_stream stream, uint64_t timeout) {
    join(self, stream);
    return real.stream_synchronize(self, stream, timeout);
  };
}

}  // namespace

void add_simple_graphs(Table& table, Flaw flaw) {
  the_flaw = flaw;
  note_streams(table);
  if (is(Flaw::wait_for_other_device_ignored)) note_events(table);
  if (is(Flaw::apart_from_the_null_stream) || is(Flaw::null_apart_from_blocking)) join_before_anything(table);
  table.graph_create = create;
  table.graph_update = update;
  table.graph_launch = launch;
  table.graph_destroy = destroy;
  table.device_properties = [](void* self, int32_t device, anyplace_device_properties* properties) {
    const Status status = real.device_properties(self, device, properties);
    if (status == ok) properties->capabilities |= uint64_t{1} << ANYPLACE_CAPABILITY_BIT_GRAPHS;
    return status;
  };
}

}  // namespace anyplace::mutants
