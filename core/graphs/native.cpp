// SPDX-License-Identifier: Apache-2.0
#include "graphs/native.h"

#include <algorithm>
#include <utility>

#include "plugins/device_properties.h"
#include "runtime/switch_variable.h"

namespace anyplace::detail {

/// The boundary's array of nodes.
struct NativeGraph::Description {
  std::vector<anyplace_graph_node> nodes;
  std::vector<std::unique_ptr<HostCall>> calls;
  anyplace_graph_desc desc{};

  Description(const GraphContent& content, NativeGraph& graph) {
    nodes.reserve(content.list.nodes.size());
    for (const Node& node : content.list.nodes) add(content, node, graph);
    desc.struct_size = sizeof(desc);
    desc.node_count = static_cast<std::uint32_t>(nodes.size());
    desc.node_stride = sizeof(anyplace_graph_node);
    desc.nodes = nodes.data();
  }

 private:
  void add(const GraphContent& content, const Node& node, NativeGraph& graph) {
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
      calls.push_back(std::make_unique<HostCall>(HostCall{host->function, &graph}));
      out.function = run_host_call;
      out.user = calls.back().get();
    } else if (const auto* recorded = std::get_if<RecordWork>(&node.work)) {
      out.event = (*recorded->event)->handle;
    } else if (const auto* waited = std::get_if<WaitWork>(&node.work)) {
      out.event = (*waited->event)->handle;
    }
    nodes.push_back(out);
  }
};

NativeGraph::NativeGraph(std::shared_ptr<const GraphContent> content) : device_(content->device) {
  contents_.push_back(std::move(content));
}

bool NativeGraph::may_have(const GraphContent& content) noexcept {
  static const bool wanted = switch_variable("ANYPLACE_NATIVE_GRAPHS", true);
  if (!wanted) return false;
  const DeviceState& device = *content.device;
  const auto is_its = [&](const Node& node) {
    if (node.device != &device || std::holds_alternative<StagedWork>(node.work)) return false;
    const auto* const waited = std::get_if<WaitWork>(&node.work);
    return waited == nullptr || (*waited->event)->device->backend == device.backend;
  };
  return !content.list.nodes.empty() && std::all_of(content.list.nodes.begin(), content.list.nodes.end(), is_its);
}

std::unique_ptr<NativeGraph> NativeGraph::make(std::shared_ptr<const GraphContent> content, const char* operation) {
  DeviceState& device = *content->device;
  if (!has_capability(device, Capability::graphs, operation) || !may_have(*content)) return nullptr;
  std::unique_ptr<NativeGraph> graph(new NativeGraph(content));
  Description description(*content, *graph);
  const anyplace_status status =
      device.table->graph_create(device.self, device.index, &description.desc, &graph->handle_);
  if (status == ANYPLACE_STATUS_UNSUPPORTED) {
    static_cast<void>(take_message());
    return nullptr;
  }
  check(status, device, operation);
  graph->calls_ = std::move(description.calls);
  return graph;
}

NativeGraph::~NativeGraph() {
  if (handle_ == 0 || !backends_callable()) return;
  const anyplace_status status = device_->table->graph_destroy(device_->self, handle_);
  if (!device_->lost.load(std::memory_order_relaxed)) check_quietly(status, *device_, "~GraphExec");
}

bool NativeGraph::update(std::shared_ptr<const GraphContent> content, const char* operation) {
  if (!may_have(*content)) return false;
  Description description(*content, *this);
  contents_.reserve(contents_.size() + 1);
  calls_.reserve(calls_.size() + description.calls.size());
  const anyplace_status status = device_->table->graph_update(device_->self, handle_, &description.desc);
  if (status == ANYPLACE_STATUS_UNSUPPORTED) {
    static_cast<void>(take_message());
    return false;
  }
  check(status, *device_, operation);
  contents_.push_back(std::move(content));
  std::move(description.calls.begin(), description.calls.end(), std::back_inserter(calls_));
  return true;
}

void NativeGraph::launch(StreamState& stream, const char* operation) {
  stream_id_.store(stream.id, std::memory_order_release);
  check(device_->table->graph_launch(device_->self, handle_, stream.handle), *device_, operation);
}

anyplace_status NativeGraph::launch_later(const StreamState& stream) noexcept {
  stream_id_.store(stream.id, std::memory_order_release);
  return device_->table->graph_launch(device_->self, handle_, stream.handle);
}

void NativeGraph::run_host_call(void* user, anyplace_status status) noexcept {
  if (status != ANYPLACE_STATUS_OK) return;
  const HostCall& call = *static_cast<const HostCall*>(user);
  run_host_function(*call.function, call.graph->stream_id_.load(std::memory_order_acquire), *call.graph->device_);
}

}  // namespace anyplace::detail
