// SPDX-License-Identifier: Apache-2.0
#include "graphs/native.h"

#include <algorithm>
#include <utility>

#include "plugins/device_properties.h"
#include "runtime/layer_notes.h"
#include "runtime/switch_variable.h"

namespace anyplace::detail {

/// The array of nodes that graph_create and graph_update take.
struct NativeGraph::Description {
  std::vector<anyplace_graph_node> nodes;
  std::shared_ptr<Used> used = std::make_shared<Used>();
  anyplace_graph_desc desc{};

  Description(std::shared_ptr<const GraphContent> described, const NativeGraph& graph) {
    used->content = std::move(described);
    const GraphContent& content = *used->content;
    nodes.reserve(content.list.nodes.size());
    for (const Node& node : content.list.nodes) add(content, node, graph);
    desc.struct_size = sizeof(desc);
    desc.node_count = static_cast<std::uint32_t>(nodes.size());
    desc.node_stride = sizeof(anyplace_graph_node);
    desc.nodes = nodes.data();
  }
  Description(const Description&) = delete;  // layers are told once
  Description& operator=(const Description&) = delete;
  ~Description() {
    for (void* const user : told_of) note_host_function(user, nullptr);
  }

 private:
  std::vector<void*> told_of;  ///< host functions of the core's own

  void add(const GraphContent& content, const Node& node, const NativeGraph& graph) {
    anyplace_graph_node out{};
    out.kind = kind_of(node.work);
    out.dependencies = content.list.dependencies.data() + node.first_dependency;
    out.dependency_count = node.dependency_count;
    if (const auto* launch = std::get_if<LaunchWork>(&node.work)) {
      out.kernel = launch->kernel;
      out.launch = launch->launch.get();
    } else if (const auto* copy = std::get_if<CopyWork>(&node.work)) {
      out.copy = &copy->copy;
      out.destination_device = copy->is_peer() ? copy->destination_device : content.device->index;
      out.source_device = copy->is_peer() ? copy->source_device : content.device->index;
    } else if (const auto* fill = std::get_if<FillWork>(&node.work)) {
      out.address = fill->address;
      out.count = fill->count;
      out.value = fill->value;
      out.width = fill->width;
    } else if (const auto* host = std::get_if<HostWork>(&node.work)) {
      used->calls.push_back(std::make_unique<HostCall>(HostCall{host->function, graph.device_, graph.fault_stream_}));
      out.function = run_host_call;
      out.user = used->calls.back().get();
      if (host->deed) {
        note_host_function(out.user, host->deed.get());
        told_of.push_back(out.user);
      }
    } else if (const auto* recorded = std::get_if<RecordWork>(&node.work)) {
      out.event = (*recorded->event)->handle;
    } else if (const auto* waited = std::get_if<WaitWork>(&node.work)) {
      out.event = (*waited->event)->handle;
    }
    nodes.push_back(out);
  }
};

namespace {

/// The event that the node records or waits for; null for other nodes.
const EventState* event_of(const Node& node) noexcept {
  if (const auto* const recorded = std::get_if<RecordWork>(&node.work)) return &**recorded->event;
  if (const auto* const waited = std::get_if<WaitWork>(&node.work)) return &**waited->event;
  return nullptr;
}

}  // namespace

bool NativeGraph::may_have(const GraphContent& content) noexcept {
  static const bool wanted = switch_variable("ANYPLACE_NATIVE_GRAPHS", true);
  if (!wanted) return false;
  const DeviceState& device = *content.device;
  const auto is_its = [&](const Node& node) {
    if (node.device != &device || std::holds_alternative<StagedWork>(node.work)) return false;
    const EventState* const event = event_of(node);
    if (event == nullptr) return true;
    // A vendor's event node may leave the event's other processes out, so a graph with one is replayed.
    return event->device->backend == device.backend && (event->flags & ANYPLACE_EVENT_INTERPROCESS) == 0;
  };
  return !content.list.nodes.empty() && std::all_of(content.list.nodes.begin(), content.list.nodes.end(), is_its);
}

std::unique_ptr<NativeGraph> NativeGraph::make(std::shared_ptr<const GraphContent> content,
                                               std::shared_ptr<const std::atomic<std::uint64_t>> fault_stream,
                                               const char* operation) {
  DeviceState& device = *content->device;
  if (!has_capability(device, Capability::graphs, operation) || !may_have(*content)) return nullptr;
  std::unique_ptr<NativeGraph> graph(new NativeGraph(device, std::move(fault_stream)));
  Description description(std::move(content), *graph);
  const anyplace_status status =
      device.table->graph_create(device.self, device.index, &description.desc, &graph->handle_);
  if (status == ANYPLACE_STATUS_UNSUPPORTED) {
    static_cast<void>(take_message());
    return nullptr;
  }
  check(status, device, operation);
  graph->used_ = std::move(description.used);
  return graph;
}

NativeGraph::~NativeGraph() {
  if (handle_ == 0 || !backends_callable()) return;
  const anyplace_status status = device_->table->graph_destroy(device_->self, handle_);
  check_given_back(status, *device_, "~GraphExec");
}

std::shared_ptr<const void> NativeGraph::update(std::shared_ptr<const GraphContent> content, const char* operation) {
  if (!may_have(*content) || held_.use_count() > 1) return nullptr;
  Description description(std::move(content), *this);
  const anyplace_status status = device_->table->graph_update(device_->self, handle_, &description.desc);
  if (status == ANYPLACE_STATUS_UNSUPPORTED) {
    static_cast<void>(take_message());
    return nullptr;
  }
  check(status, *device_, operation);
  return std::exchange(used_, std::move(description.used));
}

void NativeGraph::launch(StreamState& stream, const char* operation) {
  check(device_->table->graph_launch(device_->self, handle_, stream.handle), *device_, operation);
}

anyplace_status NativeGraph::launch_later(const StreamState& stream) noexcept {
  return device_->table->graph_launch(device_->self, handle_, stream.handle);
}

void NativeGraph::run_host_call(void* user, anyplace_status status) noexcept {
  if (status != ANYPLACE_STATUS_OK) return;
  const HostCall& call = *static_cast<const HostCall*>(user);
  run_host_function(*call.function, call.fault_stream->load(std::memory_order_acquire), *call.device);
}

}  // namespace anyplace::detail
