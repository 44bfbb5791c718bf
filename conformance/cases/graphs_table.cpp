// SPDX-License-Identifier: Apache-2.0
//
// Graphs at the table, where a device has graphs of its own: what a description is, and what a backend may keep of it.
// A backend may refuse any of these graphs with UNSUPPORTED; the case is skipped then.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>

#include "figures.h"
#include "table_module.h"

namespace anyplace::conformance::graphs_table_cases {
namespace {

constexpr std::uint64_t bytes = 64 * 64;

/// Nodes, and all that they point to. What isn't the nodes' looks like nodes that are wrong.
class Description {
 public:
  explicit Description(std::uint32_t stride = sizeof(anyplace_graph_node)) : stride_(stride) {}
  Description(const Description&) = delete;  // the nodes point into it
  Description& operator=(const Description&) = delete;

  anyplace_graph_node& add(std::uint32_t kind, std::vector<std::uint32_t> after) {
    dependencies_.push_back(std::move(after));
    anyplace_graph_node node{};
    node.kind = kind;
    node.dependency_count = static_cast<std::uint32_t>(dependencies_.back().size());
    node.dependencies = dependencies_.back().data();
    nodes_.push_back(node);
    return nodes_.back();
  }
  void empty(std::vector<std::uint32_t> after = {}) { add(ANYPLACE_GRAPH_NODE_EMPTY, std::move(after)); }
  void fill(anyplace_address address, std::uint32_t value, std::uint32_t width, std::uint64_t count,
            std::vector<std::uint32_t> after = {}) {
    anyplace_graph_node& node = add(ANYPLACE_GRAPH_NODE_MEMSET, std::move(after));
    node.address = address;
    node.value = value;
    node.width = width;
    node.count = count;
  }
  void copy(const anyplace_copy_2d& copy, std::int32_t device, std::vector<std::uint32_t> after = {}) {
    copies_.push_back(copy);
    anyplace_graph_node& node = add(ANYPLACE_GRAPH_NODE_COPY, std::move(after));
    node.copy = &copies_.back();
    node.destination_device = device;
    node.source_device = device;
  }
  void copy_within(anyplace_address to, anyplace_address from, std::int32_t device,
                   std::vector<std::uint32_t> after = {}) {
    copy({sizeof(anyplace_copy_2d), ANYPLACE_COPY_DEVICE_TO_DEVICE, to, bytes, from, bytes, bytes, 1}, device,
         std::move(after));
  }
  void call(anyplace_host_function function, void* user, std::vector<std::uint32_t> after = {}) {
    anyplace_graph_node& node = add(ANYPLACE_GRAPH_NODE_HOST_FUNCTION, std::move(after));
    node.function = function;
    node.user = user;
  }
  void kernel(anyplace_kernel kernel, const anyplace_launch* launch, std::vector<std::uint32_t> after = {}) {
    anyplace_graph_node& node = add(ANYPLACE_GRAPH_NODE_KERNEL, std::move(after));
    node.kernel = kernel;
    node.launch = launch;
  }
  void event(std::uint32_t kind, anyplace_event event, std::vector<std::uint32_t> after = {}) {
    add(kind, std::move(after)).event = event;
  }

  /// Valid until the next node is added.
  const anyplace_graph_desc& desc() {
    array_.assign(nodes_.size() * stride_, 0xee);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      std::memcpy(array_.data() + i * stride_, &nodes_[i], sizeof(anyplace_graph_node));
    }
    desc_.struct_size = sizeof(desc_);
    desc_.node_count = static_cast<std::uint32_t>(nodes_.size());
    desc_.node_stride = stride_;
    desc_.reserved = 0;
    desc_.nodes = reinterpret_cast<const anyplace_graph_node*>(array_.data());
    return desc_;
  }
  /// All of it is the caller's again, and something else.
  void spoil() {
    std::fill(array_.begin(), array_.end(), std::uint8_t{0xee});
    for (anyplace_copy_2d& copy : copies_) std::memset(&copy, 0xee, sizeof(copy));
    for (std::vector<std::uint32_t>& after : dependencies_) std::fill(after.begin(), after.end(), 0xeeeeeeeeu);
    std::memset(&desc_, 0xee, sizeof(desc_));
  }

 private:
  std::uint32_t stride_;
  std::deque<anyplace_graph_node> nodes_;
  std::deque<std::vector<std::uint32_t>> dependencies_;
  std::deque<anyplace_copy_2d> copies_;
  std::vector<std::uint8_t> array_;
  anyplace_graph_desc desc_{};
};

/// What it describes; spoils the description. Skips the case where the device can't have it.
anyplace_graph create(const TableBackend& backend, Description& description, Caller caller = {}) {
  anyplace_graph graph = 0;
  step(caller.file, caller.line, "graph_create");
  const anyplace_status status =
      backend.table().graph_create(backend.self(), backend.device(), &description.desc(), &graph);
  description.spoil();
  if (status == ANYPLACE_STATUS_UNSUPPORTED) skip("graphs with such nodes");
  TableBackend::require(status, "graph_create", caller);
  if (graph == 0) check_failed(caller.file, caller.line, "graph_create gives the null handle");
  return graph;
}

/// Whether the device can.
bool update(const TableBackend& backend, anyplace_graph graph, Description& description, Caller caller = {}) {
  step(caller.file, caller.line, "graph_update");
  const anyplace_status status = backend.table().graph_update(backend.self(), graph, &description.desc());
  description.spoil();
  if (status == ANYPLACE_STATUS_UNSUPPORTED) {
    static_cast<void>(TableBackend::message());
    return false;
  }
  TableBackend::require(status, "graph_update", caller);
  return true;
}

struct Calls {
  std::atomic<int> right{0};
  std::atomic<int> wrong{0};
};
void count_call(void* user, anyplace_status status) {
  Calls& calls = *static_cast<Calls*>(user);
  ++(status == ANYPLACE_STATUS_OK ? calls.right : calls.wrong);
}

// ---- Descriptions

struct Stride {
  std::string label;
  std::uint32_t more;
};
const std::vector<Stride> strides = {{"as long as a node", 0}, {"8 bytes more", 8}, {"a page", 4000}};

ANYPLACE_CASES(strides, "graph table", "graphs.table", "nodes may lie {} apart, and are the caller's again at once",
               Capability::graphs) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address first = backend.allocate(bytes);
  const anyplace_address second = backend.allocate(bytes);
  backend.fill(stream, second, 0x11, bytes);
  Description description(static_cast<std::uint32_t>(sizeof(anyplace_graph_node)) + parameter.more);
  description.empty();
  description.fill(first, 0x22, 1, bytes, {0});
  description.copy_within(second, first, backend.device(), {1});
  description.fill(first, 0x33, 1, bytes, {0, 2});
  const anyplace_graph graph = create(backend, description);
  for (int launch = 0; launch < 3; ++launch) {
    backend.fill(stream, second, 0x11, bytes);
    MUST(backend, graph_launch, graph, stream);
    CHECK_BYTES(backend.read(stream, second, bytes), Bytes(bytes, 0x22));
    CHECK_BYTES(backend.read(stream, first, bytes), Bytes(bytes, 0x33));
  }
  MUST(backend, graph_destroy, graph);
}

ANYPLACE_CASE("graph table", "graphs.table", "a kernel's arguments are copied when the graph is made",
              Capability::graphs, Capability::modules, test_module) {
  TableBackend backend(run);
  const TableImage image(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(bytes);
  anyplace_module module = 0;
  anyplace_kernel kernel = 0;
  const anyplace_module_desc desc = image.desc();
  MUST(backend, module_load, backend.device(), &desc, &module);
  MUST(backend, module_kernel, module, "fill", &kernel);
  Description description;
  anyplace_graph graph = 0;
  {
    FillLaunch fill(memory, bytes / 4, 0x22222222, 40);
    description.kernel(kernel, &fill.launch());
    graph = create(backend, description);
    for (std::size_t i = 0; i < 3; ++i) fill.argument(i) = {0, 0, nullptr};
    std::memset(&fill.launch(), 0xee, sizeof(anyplace_launch));
  }
  for (int launch = 0; launch < 3; ++launch) {
    backend.fill(stream, memory, 0x44, bytes);
    MUST(backend, graph_launch, graph, stream);
    CHECK_BYTES(backend.read(stream, memory, bytes), Bytes(bytes, 0x22));
  }
  MUST(backend, graph_destroy, graph);
}

struct Expected {
  std::vector<Bytes> values;
  std::atomic<int> blocks{0};
  std::atomic<int> wrong{0};
};

anyplace_status compare(void* user, const anyplace_block*, void* const* arguments, const std::uint32_t* sizes,
                        std::uint32_t count) {
  Expected& expected = *static_cast<Expected*>(user);
  bool right = count == expected.values.size();
  for (std::uint32_t i = 0; right && i < count; ++i) {
    const Bytes& value = expected.values[i];
    right = sizes[i] == value.size() && std::memcmp(arguments[i], value.data(), value.size()) == 0;
  }
  if (!right) ++expected.wrong;
  ++expected.blocks;
  return ANYPLACE_STATUS_OK;
}

ANYPLACE_CASE("graph table", "graphs.table", "a callable's arguments of any size are copied when the graph is made",
              Capability::graphs, Capability::host_kernels) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  Expected expected;
  for (const std::uint32_t size : {1u, 7u, 64u, 65u, 1024u, 4000u}) expected.values.push_back(pattern(size, size));
  const anyplace_kernel kernel = backend.kernel(compare, &expected);
  Description description;
  anyplace_graph graph = 0;
  {
    std::vector<Bytes> given = expected.values;
    std::vector<anyplace_argument> arguments;
    for (const Bytes& value : given) {
      arguments.push_back({ANYPLACE_ARGUMENT_VALUE, static_cast<std::uint32_t>(value.size()), value.data()});
    }
    anyplace_launch launch = launch_of(8);
    launch.argument_count = static_cast<std::uint32_t>(arguments.size());
    launch.arguments = arguments.data();
    description.kernel(kernel, &launch);
    graph = create(backend, description);
    for (Bytes& value : given) std::fill(value.begin(), value.end(), std::uint8_t{0xee});
    std::fill(arguments.begin(), arguments.end(), anyplace_argument{});
    std::memset(&launch, 0xee, sizeof(launch));
  }
  for (int launch = 0; launch < 3; ++launch) MUST(backend, graph_launch, graph, stream);
  backend.synchronize(stream);
  CHECK_EQUAL(expected.blocks.load(), 24);
  CHECK_EQUAL(expected.wrong.load(), 0);
  MUST(backend, graph_destroy, graph);
  MUST(backend, kernel_destroy, kernel);
}

ANYPLACE_CASE("graph table", "graphs.nodes", "fills of each width and pitched copies in one graph",
              Capability::graphs) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address from = backend.allocate(bytes);
  const anyplace_address to = backend.allocate(bytes);
  backend.fill(stream, from, 0xee, bytes);
  backend.fill(stream, to, 0xdd, bytes);
  Description description;
  description.fill(from, 0x11, 1, 3);
  description.fill(from + 4, 0x2322, 2, 3);
  description.fill(from + 12, 0x37363534, 4, 3);
  description.copy({sizeof(anyplace_copy_2d), ANYPLACE_COPY_DEVICE_TO_DEVICE, to + 1, 50, from, 8, 6, 3},
                   backend.device(), {0, 1, 2});
  const anyplace_graph graph = create(backend, description);
  MUST(backend, graph_launch, graph, stream);
  const Bytes line = {0x11, 0x11, 0x11, 0xee, 0x22, 0x23, 0x22, 0x23, 0x22, 0x23, 0xee, 0xee,
                      0x34, 0x35, 0x36, 0x37, 0x34, 0x35, 0x36, 0x37, 0x34, 0x35, 0x36, 0x37};
  Bytes written(bytes, 0xee);
  std::copy(line.begin(), line.end(), written.begin());
  Bytes copied(bytes, 0xdd);
  for (std::size_t row = 0; row < 3; ++row) std::copy_n(written.begin() + row * 8, 6, copied.begin() + 1 + row * 50);
  CHECK_BYTES(backend.read(stream, from, bytes), written);
  CHECK_BYTES(backend.read(stream, to, bytes), copied);
  MUST(backend, graph_destroy, graph);
}

// ---- Launches

ANYPLACE_CASE("graph table", "graphs.launch", "a launch is behind the stream's earlier work and before its later work",
              Capability::graphs) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_stream other = backend.stream();
  const anyplace_address a = backend.allocate(bytes);
  const anyplace_address b = backend.allocate(bytes);
  const anyplace_address c = backend.allocate(bytes);
  for (const anyplace_address memory : {a, b, c}) backend.fill(other, memory, 0x11, bytes);
  Description description;
  description.copy_within(b, a, backend.device());
  const anyplace_graph graph = create(backend, description);
  TableHold hold(backend);
  hold.hold(stream);
  MUST(backend, memory_set, stream, a, 0x22, 1, bytes);
  MUST(backend, graph_launch, graph, stream);
  MUST(backend, memory_copy, stream, c, b, bytes, ANYPLACE_COPY_DEVICE_TO_DEVICE);
  MUST(backend, memory_set, stream, b, 0x33, 1, bytes);
  CHECK_STAYS_FALSE(backend.read(other, b, bytes) != Bytes(bytes, 0x11));
  hold.open();
  backend.synchronize(stream);
  CHECK_BYTES(backend.read(other, c, bytes), Bytes(bytes, 0x22));
  CHECK_BYTES(backend.read(other, b, bytes), Bytes(bytes, 0x33));
  MUST(backend, graph_destroy, graph);
}

ANYPLACE_CASE("graph table", "graphs.launch", "host functions are called with OK at each launch, and not otherwise",
              Capability::graphs, Capability::host_functions) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  Calls calls;
  Description description;
  description.call(count_call, &calls);
  description.call(count_call, &calls, {0});
  const anyplace_graph graph = create(backend, description);
  for (int launch = 1; launch <= 4; ++launch) {
    MUST(backend, graph_launch, graph, stream);
    backend.synchronize(stream);
    CHECK_EQUAL(calls.right.load(), 2 * launch);
  }
  MUST(backend, graph_destroy, graph);
  CHECK_EQUAL(calls.right.load(), 8);
  CHECK_EQUAL(calls.wrong.load(), 0);
}

ANYPLACE_CASE("graph table", "graphs.events", "events are recorded and waited for at each launch", Capability::graphs) {
  TableBackend backend(run);
  const anyplace_stream producer = backend.stream();
  const anyplace_stream stream = backend.stream();
  const anyplace_event waited = backend.event();
  const anyplace_event recorded = backend.event();
  const anyplace_address memory = backend.allocate(bytes);
  backend.fill(stream, memory, 0x11, bytes);
  Description description;
  description.event(ANYPLACE_GRAPH_NODE_EVENT_WAIT, waited);
  description.fill(memory, 0x22, 1, bytes, {0});
  description.event(ANYPLACE_GRAPH_NODE_EVENT_RECORD, recorded, {1});
  const anyplace_graph graph = create(backend, description);
  for (int launch = 0; launch < 2; ++launch) {
    backend.fill(stream, memory, 0x11, bytes);
    TableHold hold(backend);
    hold.hold(producer);
    MUST(backend, event_record, waited, producer);
    MUST(backend, graph_launch, graph, stream);
    std::int32_t done = 0;
    MUST(backend, event_query, recorded, &done);
    CHECK_EQUAL(done, 0);
    CHECK_STAYS_FALSE(backend.read(producer == stream ? producer : backend.stream(), memory, bytes) !=
                      Bytes(bytes, 0x11));
    hold.open();
    MUST(backend, event_synchronize, recorded, ANYPLACE_FOREVER);
    CHECK_BYTES(backend.read(backend.stream(), memory, bytes), Bytes(bytes, 0x22));
    backend.synchronize(stream);
    backend.synchronize(producer);
  }
  MUST(backend, graph_destroy, graph);
}

ANYPLACE_CASE("graph table", "graphs.faults", "what a kernel returns is told with the cookie of the launch's stream",
              Capability::graphs, Capability::host_kernels) {
  TableBackend backend(run);
  const anyplace_stream first = backend.stream_with(815);
  const anyplace_stream second = backend.stream_with(816);
  const anyplace_kernel kernel = backend.kernel(fail);
  const anyplace_launch launch = launch_of(1);
  Description description;
  description.kernel(kernel, &launch);
  const anyplace_graph graph = create(backend, description);
  MUST(backend, graph_launch, graph, first);
  backend.synchronize(first);
  CHECK_EQUAL(TableBackend::faults().size(), 1u);
  CHECK_EQUAL(TableBackend::faults().back().cookie, 815u);
  MUST(backend, graph_launch, graph, second);
  backend.synchronize(second);
  CHECK_EQUAL(TableBackend::faults().size(), 2u);
  CHECK_EQUAL(TableBackend::faults().back().cookie, 816u);
  CHECK_EQUAL(static_cast<ErrorCode>(TableBackend::faults().back().status), ErrorCode::kernel_failed);
  MUST(backend, graph_destroy, graph);
  MUST(backend, kernel_destroy, kernel);
}

// ---- Updates

ANYPLACE_CASE("graph table", "graphs.update", "an update is whole, for later launches alone, and copied",
              Capability::graphs) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(bytes);
  const anyplace_address copied = backend.allocate(3 * bytes);
  const auto describe = [&](Description& description, std::uint8_t value) {
    description.fill(memory, value, 1, bytes / 2);
    description.fill(memory + bytes / 2, value * 0x01010101u, 4, bytes / 8, {0});
  };
  Description first;
  describe(first, 0x11);
  const anyplace_graph graph = create(backend, first);
  TableHold hold(backend);
  hold.hold(stream);
  MUST(backend, graph_launch, graph, stream);
  MUST(backend, memory_copy, stream, copied, memory, bytes, ANYPLACE_COPY_DEVICE_TO_DEVICE);
  std::uint8_t values[3] = {0x11, 0x11, 0x11};
  for (std::uint32_t i = 1; i < 3; ++i) {
    Description next;
    describe(next, static_cast<std::uint8_t>(0x11 + i));
    const bool updated = update(backend, graph, next);
    values[i] = updated ? static_cast<std::uint8_t>(0x11 + i) : values[i - 1];
    MUST(backend, graph_launch, graph, stream);
    MUST(backend, memory_copy, stream, copied + i * bytes, memory, bytes, ANYPLACE_COPY_DEVICE_TO_DEVICE);
  }
  hold.open();
  Bytes expected;
  for (const std::uint8_t value : values) expected.insert(expected.end(), bytes, value);
  CHECK_BYTES(backend.read(stream, copied, 3 * bytes), expected);
  MUST(backend, graph_destroy, graph);
}

// ---- Nothing is left

ANYPLACE_CASE("graph table", "graphs.life",
              "graphs that are made, updated, launched and destroyed leave nothing behind", Capability::graphs) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(2 * bytes);
  const anyplace_event event = backend.event();
  check_leaves_nothing(backend, 50, 0, [&] {
    const auto describe = [&](Description& description) {
      description.fill(memory, 1, 1, bytes);
      for (std::uint32_t node = 0; node < 10; ++node) {
        description.copy_within(memory + bytes, memory, backend.device(), {node});
      }
      description.event(ANYPLACE_GRAPH_NODE_EVENT_RECORD, event, {10});
    };
    Description description;
    describe(description);
    const anyplace_graph graph = create(backend, description);
    for (int round = 0; round < 2; ++round) {
      MUST(backend, graph_launch, graph, stream);
      Description next;
      describe(next);
      update(backend, graph, next);
    }
    backend.synchronize(stream);
    MUST(backend, graph_destroy, graph);
  });
}

ANYPLACE_CASE("graph table", "graphs.life", "a graph that was never launched leaves nothing behind",
              Capability::graphs) {
  TableBackend backend(run);
  const anyplace_address memory = backend.allocate(bytes);
  check_leaves_nothing(backend, 100, 0, [&] {
    Description description;
    description.fill(memory, 1, 1, bytes);
    description.empty({0});
    MUST(backend, graph_destroy, create(backend, description));
  });
}

ANYPLACE_CASE("graph table", "graphs.life", "the stream of a launch may be destroyed, and the launch completes",
              Capability::graphs) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_stream other = backend.stream();
  const anyplace_address memory = backend.allocate(bytes);
  backend.fill(other, memory, 0x11, bytes);
  Description description;
  description.fill(memory, 0x22, 1, bytes);
  const anyplace_graph graph = create(backend, description);
  TableHold hold(backend);
  hold.hold(stream);
  MUST(backend, graph_launch, graph, stream);
  backend.destroy(stream);
  CHECK_BYTES(backend.read(other, memory, bytes), Bytes(bytes, 0x11));
  hold.open();
  MUST(backend, device_synchronize, backend.device(), ANYPLACE_FOREVER);
  CHECK_BYTES(backend.read(other, memory, bytes), Bytes(bytes, 0x22));
  MUST(backend, graph_destroy, graph);
}

ANYPLACE_CASE("graph table", "process.shutdown", "shutdown waits for a launch that is pending", Capability::graphs,
              Capability::host_functions) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  Calls calls;
  Description description;
  description.call(count_call, &calls);
  description.call(count_call, &calls, {0});
  const anyplace_graph graph = create(backend, description);
  MUST(backend, graph_launch, graph, stream);
  TableBackend::require(backend.shut_down(ANYPLACE_FOREVER), "shutdown", {});
  CHECK_EQUAL(calls.right.load(), 2);
}

}  // namespace
}  // namespace anyplace::conformance::graphs_table_cases
