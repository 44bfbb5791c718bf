// SPDX-License-Identifier: Apache-2.0
#include "graph.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "anyplace/backend/kit/graph_nodes.h"
#include "anyplace/backend/kit/refusals.h"
#include "copy.h"
#include "device.h"
#include "kernel.h"
#include "stream.h"

namespace anyplace::levelzero {

using anyplace::backend::from_handle;

// ---- A closed list -------------------------------------------------------------------------------------------------

class Graph::List {
 public:
  List(Device& device, const std::vector<Node>& nodes) : device_(device) {
    try {
      make_events(2 + std::count_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.has_event; }));
      make_list();
      append_all(nodes);
      device_.check(api().CommandListClose(list_), "zeCommandListClose");
    } catch (...) {
      FirstFailure dropped;
      end(dropped);
      throw;
    }
  }
  List(const List&) = delete;  // it owns the list
  List& operator=(const List&) = delete;
  ~List() {
    FirstFailure dropped;
    end(dropped);
  }

  /// Whether the list can be executed: the stream has passed the list's last execution, and no launch failed half-way.
  bool is_idle() { return usable_ && (!done_ || done_->is_complete()); }

  void launch(Stream& stream, ze_command_queue_handle_t queue) {
    Submission on(stream);
    try {
      execute(on, queue);
    } catch (...) {
      if (runs_alone_) try_to_join(on);
      throw;
    }
  }

  /// Whether the list was executed but no stream waits for its end, because the barrier failed.
  bool runs_alone() const noexcept { return runs_alone_; }
  /// Makes the stream wait for the end of that execution.
  void join(Stream& stream) {
    Submission on(stream);
    join(on);
  }

  void end(FirstFailure& failure) noexcept {
    if (std::exchange(runs_alone_, false) && !device_.lost()) {
      failure.add(api().EventHostSynchronize(finish(), UINT64_MAX), "zeEventHostSynchronize");
    }
    done_ = SignalRef();
    if (list_ != nullptr) failure.add(api().CommandListDestroy(std::exchange(list_, nullptr)), "zeCommandListDestroy");
    for (const ze_event_handle_t event : events_) failure.add(api().EventDestroy(event), "zeEventDestroy");
    events_.clear();
    if (pool_ != nullptr) failure.add(api().EventPoolDestroy(std::exchange(pool_, nullptr)), "zeEventPoolDestroy");
  }

 private:
  void execute(Submission& on, ze_command_queue_handle_t queue) {
    done_ = on.append_marked(
        "zeCommandQueueExecuteCommandLists, or a barrier around it",
        [&](ze_command_list_handle_t list, ze_event_handle_t signal, std::uint32_t waits, ze_event_handle_t* before) {
          ze_result_t result = api().CommandListAppendBarrier(list, start(), waits, before);
          if (result != ZE_RESULT_SUCCESS) return result;
          // Until all three calls succeed the list can't be used again, because nothing resets `start`.
          usable_ = false;
          result = api().CommandQueueExecuteCommandLists(queue, 1, &list_, nullptr);
          if (result != ZE_RESULT_SUCCESS) return result;
          runs_alone_ = true;
          ze_event_handle_t ends = finish();
          result = api().CommandListAppendBarrier(list, signal, 1, &ends);
          if (result != ZE_RESULT_SUCCESS) return result;
          usable_ = true;
          runs_alone_ = false;
          return result;
        });
  }
  void join(Submission& on) {
    done_ = on.append_marked("zeCommandListAppendBarrier", [&](ze_command_list_handle_t list, ze_event_handle_t signal,
                                                               std::uint32_t waits, ze_event_handle_t* before) {
      std::vector<ze_event_handle_t> events(before, before + waits);
      events.push_back(finish());
      return api().CommandListAppendBarrier(list, signal, static_cast<std::uint32_t>(events.size()), events.data());
    });
    runs_alone_ = false;
  }
  /// Joins at once, so that a synchronisation of the stream covers the running list. If that fails too, the next launch
  /// tries again.
  void try_to_join(Submission& on) noexcept {
    try {
      join(on);
    } catch (...) {  // the launch's own failure is reported
    }
  }

  ze_event_handle_t start() const noexcept { return events_[0]; }
  ze_event_handle_t finish() const noexcept { return events_[1]; }

  void make_events(std::size_t count) {
    ze_event_pool_desc_t pool{};
    pool.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    pool.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
    pool.count = static_cast<std::uint32_t>(count);
    device_.check(api().EventPoolCreate(device_.context(), &pool, 0, nullptr, &pool_), "zeEventPoolCreate");
    check_made(pool_, "zeEventPoolCreate");
    events_.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      ze_event_desc_t desc{};
      desc.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
      desc.index = i;
      desc.signal = ZE_EVENT_SCOPE_FLAG_HOST;
      desc.wait = ZE_EVENT_SCOPE_FLAG_HOST;
      ze_event_handle_t event = nullptr;
      device_.check(api().EventCreate(pool_, &desc, &event), "zeEventCreate");
      check_made(event, "zeEventCreate");
      events_.push_back(event);
    }
  }
  void make_list() {
    ze_command_list_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
    desc.commandQueueGroupOrdinal = device_.queue_group();
    device_.check(api().CommandListCreate(device_.context(), device_.native(), &desc, &list_), "zeCommandListCreate");
    check_made(list_, "zeCommandListCreate");
  }

  void add_barrier(ze_event_handle_t signal, std::uint32_t waits, ze_event_handle_t* before) {
    device_.check(api().CommandListAppendBarrier(list_, signal, waits, before), "zeCommandListAppendBarrier");
  }
  void append_all(const std::vector<Node>& nodes) {
    ze_event_handle_t begins = start();
    add_barrier(nullptr, 1, &begins);
    for (const ze_event_handle_t event : events_) {
      device_.check(api().CommandListAppendEventReset(list_, event), "zeCommandListAppendEventReset");
    }
    add_barrier(nullptr, 0, nullptr);
    std::vector<ze_event_handle_t> event_of(nodes.size(), nullptr);
    std::size_t used = 2;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      std::vector<ze_event_handle_t> before;
      for (const std::uint32_t node : nodes[i].after) before.push_back(event_of[node]);
      if (nodes[i].has_event) event_of[i] = events_[used++];
      append(nodes[i], event_of[i], before);
    }
    add_barrier(finish(), 0, nullptr);
  }
  void append(const Node& node, ze_event_handle_t signal, std::vector<ze_event_handle_t>& before) {
    const auto waits = static_cast<std::uint32_t>(before.size());
    ze_event_handle_t* const first = before.empty() ? nullptr : before.data();
    switch (node.kind) {
      case ANYPLACE_GRAPH_NODE_KERNEL:
        return node.kernel->with_arguments(node.launch, [&](const ze_group_count_t& groups) {
          device_.check(
              api().CommandListAppendLaunchKernel(list_, node.kernel->native(), &groups, signal, waits, first),
              "zeCommandListAppendLaunchKernel");
        });
      case ANYPLACE_GRAPH_NODE_COPY:
        return append_copy(node.copy, signal, waits, first);
      case ANYPLACE_GRAPH_NODE_MEMSET:
        return device_.check(api().CommandListAppendMemoryFill(list_, from_handle<void>(node.address), &node.value,
                                                               fill_pattern_bytes(node.value, node.width),
                                                               node.count * node.width, signal, waits, first),
                             "zeCommandListAppendMemoryFill");
      default:
        return add_barrier(signal, waits, first);
    }
  }
  void append_copy(const anyplace_copy_2d& copy, ze_event_handle_t signal, std::uint32_t waits,
                   ze_event_handle_t* before) {
    void* const to = from_handle<void>(copy.destination);
    const auto* const from = from_handle<const void>(copy.source);
    if (copy.rows == 1) {
      return device_.check(api().CommandListAppendMemoryCopy(list_, to, from, copy.width, signal, waits, before),
                           "zeCommandListAppendMemoryCopy");
    }
    const ze_copy_region_t region{
        0, 0, 0, static_cast<std::uint32_t>(copy.width), static_cast<std::uint32_t>(copy.rows), 0};
    device_.check(api().CommandListAppendMemoryCopyRegion(
                      list_, to, &region, static_cast<std::uint32_t>(copy.destination_pitch), 0, from, &region,
                      static_cast<std::uint32_t>(copy.source_pitch), 0, signal, waits, before),
                  "zeCommandListAppendMemoryCopyRegion");
  }

  Device& device_;
  ze_event_pool_handle_t pool_ = nullptr;
  std::vector<ze_event_handle_t> events_;  // start, end, and those of nodes
  ze_command_list_handle_t list_ = nullptr;
  SignalRef done_;           // signalled by the stream when it has passed the last execution
  bool usable_ = true;       // false for good after a launch that failed half-way
  bool runs_alone_ = false;  // see runs_alone()
};

// ---- Which nodes a list can have -----------------------------------------------------------------------------------

bool Graph::is_supported() noexcept {
  const Api& a = api();
  return a.CommandListCreate != nullptr && a.CommandListClose != nullptr && a.CommandListAppendEventReset != nullptr &&
         a.CommandQueueCreate != nullptr && a.CommandQueueDestroy != nullptr &&
         a.CommandQueueExecuteCommandLists != nullptr;
}

namespace {

[[noreturn]] void refuse_node(const std::string& what) {
  refuse(ANYPLACE_STATUS_UNSUPPORTED, "a closed command list can't have " + what);
}

bool fits_a_region(std::uint64_t value) { return value <= std::numeric_limits<std::uint32_t>::max(); }

}  // namespace

void Graph::keep_launch(Node& node, const anyplace_launch& launch) {
  node.launch = launch;
  for (std::uint32_t i = 0; i < launch.argument_count; ++i) {
    const anyplace_argument& given = backend::argument_at(launch, i);
    const auto* const value = static_cast<const std::byte*>(given.value);
    node.values.emplace_back(value, value + given.size);
    node.arguments.push_back({given.kind, given.size, node.values.back().data()});
  }
  node.launch.arguments = node.arguments.data();
  node.launch.argument_stride = sizeof(anyplace_argument);
}

Graph::Node Graph::copy_of(const anyplace_graph_desc& desc, std::uint32_t index) {
  const anyplace_graph_node given = backend::node_at(desc, index);
  Node node;
  node.kind = given.kind;
  node.after.assign(given.dependencies, given.dependencies + given.dependency_count);
  if (given.kind == ANYPLACE_GRAPH_NODE_KERNEL) {
    node.kernel = from_handle<Kernel>(given.kernel);
    keep_launch(node, backend::widened(given.launch));
  } else if (given.kind == ANYPLACE_GRAPH_NODE_COPY) {
    node.copy = backend::widened(given.copy);
    if (given.destination_device != given.source_device) refuse_node("a copy between two devices");
    if (node.copy.width == 0 || node.copy.rows == 0) node.kind = ANYPLACE_GRAPH_NODE_EMPTY;
  } else if (given.kind == ANYPLACE_GRAPH_NODE_MEMSET) {
    node.address = given.address;
    node.count = given.count;
    node.value = given.value;
    node.width = given.width;
    if (node.count == 0) node.kind = ANYPLACE_GRAPH_NODE_EMPTY;
  } else if (given.kind != ANYPLACE_GRAPH_NODE_EMPTY) {
    refuse_node("nodes that call the host, or record events or wait for them (kind " + std::to_string(given.kind) +
                ")");
  }
  return node;
}

void Graph::require_copy(const Node& node) const {
  const anyplace_copy_2d& copy = node.copy;
  Memory& memory = device_.memory();
  const bool out_of_reach = (copy.kind == ANYPLACE_COPY_HOST_TO_DEVICE && memory.is_out_of_reach(copy.source)) ||
                            (copy.kind == ANYPLACE_COPY_DEVICE_TO_HOST && memory.is_out_of_reach(copy.destination));
  if (out_of_reach) refuse_node("copies of host memory that isn't Level Zero's: those go by way of other memory");
  if (copy.kind < ANYPLACE_COPY_HOST_TO_DEVICE || copy.kind > ANYPLACE_COPY_DEVICE_TO_DEVICE) {
    refuse_node("a copy of kind " + std::to_string(copy.kind));
  }
  if (copy.rows > 1 && (!fits_a_region(copy.destination_pitch) || !fits_a_region(copy.source_pitch) ||
                        !fits_a_region(copy.width) || !fits_a_region(copy.rows))) {
    refuse_node("a copy of so many lines, or lines so far apart, by one command");
  }
}

void Graph::require_fill(const Node& node) const {
  if (fill_pattern_bytes(node.value, node.width) > device_.facts().longest_fill_pattern) {
    refuse_node("a fill with a pattern that is longer than the queue takes");
  }
}

// ---- Making and destroying -----------------------------------------------------------------------------------------

Graph::Graph(Device& device, const anyplace_graph_desc& desc) : device_(device) {
  if (!is_supported()) refuse(ANYPLACE_STATUS_UNSUPPORTED, "the Level Zero loader lacks what closed lists need");
  nodes_.reserve(desc.node_count);
  for (std::uint32_t i = 0; i < desc.node_count; ++i) {
    nodes_.push_back(copy_of(desc, i));
    const Node& node = nodes_.back();
    if (node.kind == ANYPLACE_GRAPH_NODE_COPY) require_copy(node);
    if (node.kind == ANYPLACE_GRAPH_NODE_MEMSET) require_fill(node);
    for (const std::uint32_t before : node.after) nodes_.at(before).has_event = true;
  }
  ze_command_queue_desc_t queue{};
  queue.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  queue.ordinal = device.queue_group();
  queue.index = device.next_queue();
  queue.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  device.check(api().CommandQueueCreate(device.context(), device.native(), &queue, &queue_), "zeCommandQueueCreate");
  check_made(queue_, "zeCommandQueueCreate");
  try {
    lists_.push_back(std::make_unique<List>(device, nodes_));
  } catch (...) {
    FirstFailure dropped;
    end(dropped);
    throw;
  }
}

Graph::~Graph() {
  FirstFailure dropped;
  end(dropped);
}

void Graph::end(FirstFailure& failure) noexcept {
  for (const auto& list : lists_) list->end(failure);
  lists_.clear();
  if (queue_ != nullptr)
    failure.add(api().CommandQueueDestroy(std::exchange(queue_, nullptr)), "zeCommandQueueDestroy");
}

void Graph::destroy(Graph* graph) {
  const std::unique_ptr<Graph> ended(graph);
  const Ending ending = ended->device_.ending();
  FirstFailure failure;
  ended->end(failure);
  ending.check(failure.result, failure.call);
}

void Graph::update(const anyplace_graph_desc&) {
  refuse(ANYPLACE_STATUS_UNSUPPORTED, "a closed command list can't be changed: another graph has to be made");
}

// ---- Launching -----------------------------------------------------------------------------------------------------

/// Returns null if all lists are in use and there are most_lists of them.
Graph::List* Graph::idle_list() {
  for (const auto& list : lists_) {
    if (list->is_idle()) return list.get();
  }
  if (lists_.size() == most_lists) return nullptr;
  lists_.push_back(std::make_unique<List>(device_, nodes_));
  return lists_.back().get();
}

void Graph::launch(Stream& stream) {
  const std::lock_guard lock(mutex_);
  device_.require();
  for (const auto& list : lists_) {
    if (list->runs_alone()) list->join(stream);
  }
  if (List* const list = idle_list()) return list->launch(stream, queue_);
  launch_one_by_one(stream);
}

void Graph::launch_one_by_one(Stream& stream) {
  for (const Node& node : nodes_) {
    if (node.kind == ANYPLACE_GRAPH_NODE_KERNEL) {
      node.kernel->launch(stream, node.launch);
    } else if (node.kind == ANYPLACE_GRAPH_NODE_COPY && node.copy.rows == 1) {
      Copies::copy(stream, node.copy.destination, node.copy.source, node.copy.width, node.copy.kind);
    } else if (node.kind == ANYPLACE_GRAPH_NODE_COPY) {
      Copies::copy_2d(stream, node.copy);
    } else if (node.kind == ANYPLACE_GRAPH_NODE_MEMSET) {
      Copies::fill(stream, node.address, node.value, node.width, node.count);
    }
  }
}

}  // namespace anyplace::levelzero
