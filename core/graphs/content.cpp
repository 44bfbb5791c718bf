// SPDX-License-Identifier: Apache-2.0
#include "graphs/content.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace anyplace::detail {

namespace {

std::span<const std::uint32_t> dependencies_of(const NodeList& list, const Node& node) noexcept {
  return {list.dependencies.data() + node.first_dependency, node.dependency_count};
}

void append(GraphContent& flat, const GraphContent& content, const std::vector<std::uint32_t>& after,
            std::vector<std::uint32_t>& last);

/// For each node of a content, the nodes of the flat list that stand for it: for a child graph, its last nodes.
using Places = std::vector<std::vector<std::uint32_t>>;

std::vector<std::uint32_t> places_of(const Places& places, std::span<const std::uint32_t> dependencies) {
  std::vector<std::uint32_t> found;
  for (const std::uint32_t dependency : dependencies) join_fronts(found, places[dependency]);
  std::sort(found.begin(), found.end());
  return found;
}

/// Appends the nodes of `content` to `flat`; those without dependencies come after `after`. `last` gets the nodes that
/// no other of them comes after or, if there are none, `after`.
void append(GraphContent& flat, const GraphContent& content, const std::vector<std::uint32_t>& after,
            std::vector<std::uint32_t>& last) {
  flat.buffers.insert(flat.buffers.end(), content.buffers.begin(), content.buffers.end());
  flat.pools.insert(flat.pools.end(), content.pools.begin(), content.pools.end());
  Places places(content.list.nodes.size());
  std::vector<bool> is_last(content.list.nodes.size(), true);
  for (std::size_t i = 0; i < content.list.nodes.size(); ++i) {
    const Node& node = content.list.nodes[i];
    const std::span<const std::uint32_t> dependencies = dependencies_of(content.list, node);
    for (const std::uint32_t dependency : dependencies) is_last[dependency] = false;
    const std::vector<std::uint32_t> before = dependencies.empty() ? after : places_of(places, dependencies);
    if (const auto* child = std::get_if<ChildWork>(&node.work)) {
      append(flat, *child->content, before, places[i]);
    } else {
      places[i].assign(1, flat.list.add(Work(node.work), *node.device, before));
    }
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (is_last[i]) join_fronts(last, places[i]);
  }
  if (places.empty()) last = after;
}

std::string label_of_copy(const anyplace_copy_2d& copy, const char* way) {
  return copy.rows == 1 ? fmt::format("copy of {} bytes {}", copy.width, way)
                        : fmt::format("copy of {} x {} bytes {}", copy.rows, copy.width, way);
}

const char* way_of(const CopyWork& work) noexcept {
  if (work.is_peer()) return "between devices";
  switch (work.copy.kind) {
    case ANYPLACE_COPY_HOST_TO_DEVICE:
      return "to the device";
    case ANYPLACE_COPY_DEVICE_TO_HOST:
      return "to the host";
    case ANYPLACE_COPY_HOST_TO_HOST:
      return "within the host";
    default:
      return "within the device";
  }
}

}  // namespace

std::shared_ptr<GraphContent> flatten(const GraphContent& content) {
  auto flat = std::make_shared<GraphContent>();
  flat->device = content.device;
  std::vector<std::uint32_t> last;
  append(*flat, content, {}, last);
  for (const Node& node : flat->list.nodes) {
    if (const auto* recorded = std::get_if<RecordWork>(&node.work)) flat->recorded.push_back(&**recorded->event);
    if (const auto* waited = std::get_if<WaitWork>(&node.work)) flat->waited.push_back(&**waited->event);
    flat->calls_host = flat->calls_host || std::holds_alternative<HostWork>(node.work);
    flat->launches_kernels = flat->launches_kernels || std::holds_alternative<LaunchWork>(node.work);
  }
  return flat;
}

bool uses(const GraphContent& content, const DeviceState& device) {
  const auto is_its = [&](const Node& node) {
    const auto* const child = std::get_if<ChildWork>(&node.work);
    return node.device == &device || (child != nullptr && uses(*child->content, device));
  };
  const auto is_there = [&](const std::shared_ptr<HeldBuffer>& buffer) { return &buffer->device() == &device; };
  return content.device == &device || std::any_of(content.list.nodes.begin(), content.list.nodes.end(), is_its) ||
         std::any_of(content.buffers.begin(), content.buffers.end(), is_there);
}

const char* name_of_kind(std::uint32_t kind) noexcept {
  switch (kind) {
#define ANYPLACE_GRAPH_NODE_NAME(upper, lower, number, text) \
  case number:                                               \
    return #lower;
    ANYPLACE_GRAPH_NODE_LIST(ANYPLACE_GRAPH_NODE_NAME)
#undef ANYPLACE_GRAPH_NODE_NAME
    default:
      return "?";
  }
}

std::string label_of(const Work& work) {
  if (const auto* launch = std::get_if<LaunchWork>(&work)) {
    return launch->name->empty() ? "kernel" : fmt::format("kernel {}", *launch->name);
  }
  if (const auto* copy = std::get_if<CopyWork>(&work)) return label_of_copy(copy->copy, way_of(*copy));
  if (const auto* staged = std::get_if<StagedWork>(&work)) {
    return label_of_copy(staged->what->copy, "between devices, through the host");
  }
  if (const auto* fill = std::get_if<FillWork>(&work)) {
    return fmt::format("memset{} of {} bytes", fill->width * 8, fill->width * fill->count);
  }
  if (const auto* child = std::get_if<ChildWork>(&work)) {
    return fmt::format("graph of {} nodes", child->content->list.nodes.size());
  }
  return name_of_kind(kind_of(work));
}

}  // namespace anyplace::detail
