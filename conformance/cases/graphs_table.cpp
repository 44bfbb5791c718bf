// SPDX-License-Identifier: Apache-2.0
//
// Graphs at the table, for a device that has graphs of its own: what a description says, and what a backend may keep of
// it. A backend may refuse a graph with UNSUPPORTED, which skips the case, unless its nodes are empty ones, fills of
// bytes and copies of one piece on the device.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "figures.h"
#include "table_graph.h"
#include "table_module.h"

namespace anyplace::conformance::graphs_table_cases {
namespace {

constexpr std::uint64_t bytes = 64 * 64;

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
  GraphDescription description(static_cast<std::uint32_t>(sizeof(anyplace_graph_node)) + parameter.more);
  description.empty();
  description.fill(first, 0x22, 1, bytes, {0});
  description.copy_within(second, first, bytes, backend.device(), {1});
  description.fill(first, 0x33, 1, bytes, {0, 2});
  const anyplace_graph graph = create_graph(backend, description);
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
  GraphDescription description;
  anyplace_graph graph = 0;
  {
    FillLaunch fill(memory, bytes / 4, 0x22222222, 40);
    description.kernel(kernel, &fill.launch());
    graph = create_graph(backend, description);
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
  GraphDescription description;
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
    graph = create_graph(backend, description);
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
  GraphDescription description;
  description.fill(from, 0x11, 1, 3);
  description.fill(from + 4, 0x2322, 2, 3);
  description.fill(from + 12, 0x37363534, 4, 3);
  description.copy({sizeof(anyplace_copy_2d), ANYPLACE_COPY_DEVICE_TO_DEVICE, to + 1, 50, from, 8, 6, 3},
                   backend.device(), {0, 1, 2});
  const anyplace_graph graph = create_graph(backend, description);
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

ANYPLACE_CASE("graph table", "graphs.nodes", "a fill takes the low bits of the number, and leaves the others alone",
              Capability::graphs) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(64);
  backend.fill(stream, memory, 0xee, 64);
  GraphDescription bytewise;
  bytewise.fill(memory + 1, 0xdeadbe11, 1, 6);
  const anyplace_graph of_bytes = create_graph(backend, bytewise);
  MUST(backend, graph_launch, of_bytes, stream);
  Bytes expected(64, 0xee);
  std::fill_n(expected.begin() + 1, 6, std::uint8_t{0x11});
  CHECK_BYTES(backend.read(stream, memory, 64), expected);
  GraphDescription of_two;
  of_two.fill(memory + 10, 0xdead2322, 2, 5);
  const anyplace_graph of_pairs = create_graph(backend, of_two);
  MUST(backend, graph_launch, of_pairs, stream);
  for (std::size_t i = 10; i < 20; i += 2) expected[i] = 0x22;
  for (std::size_t i = 11; i < 20; i += 2) expected[i] = 0x23;
  CHECK_BYTES(backend.read(stream, memory, 64), expected);
  for (const anyplace_graph graph : {of_bytes, of_pairs}) MUST(backend, graph_destroy, graph);
}

// ---- A newer core

ANYPLACE_CASE("graph table", "graphs.table", "a newer core's longer structs describe the graph that today's would",
              Capability::graphs) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address first = backend.allocate(bytes);
  const anyplace_address second = backend.allocate(bytes);
  const auto describe = [&](GraphDescription& description, std::uint8_t value) {
    description.empty();
    description.fill(first, value, 1, bytes, {0});
    description.copy_within(second, first, bytes, backend.device(), {1});
    description.fill(first, value + 1u, 1, bytes, {0, 2});
  };
  for (const std::uint32_t more : {8u, 64u}) {
    GraphDescription description(GraphDescription::Newer{more});
    describe(description, 0x22);
    const anyplace_graph graph = create_graph(backend, description);
    MUST(backend, graph_launch, graph, stream);
    CHECK_BYTES(backend.read(stream, second, bytes), Bytes(bytes, 0x22));
    CHECK_BYTES(backend.read(stream, first, bytes), Bytes(bytes, 0x23));
    GraphDescription next(GraphDescription::Newer{more});
    describe(next, 0x44);
    const std::uint8_t expected = update_graph(backend, graph, next) ? 0x44 : 0x22;
    MUST(backend, graph_launch, graph, stream);
    CHECK_BYTES(backend.read(stream, second, bytes), Bytes(bytes, expected));
    CHECK_BYTES(backend.read(stream, first, bytes), Bytes(bytes, expected + 1));
    MUST(backend, graph_destroy, graph);
  }
}

/// The launch struct of a newer core, with additional bytes behind today's.
struct LongLaunch {
  anyplace_launch launch;
  std::uint8_t more[64];
};
struct LongArgument {
  anyplace_argument argument;
  std::uint8_t more[24];
};

ANYPLACE_CASE("graph table", "graphs.table", "a newer core's longer launch describes the kernel that today's would",
              Capability::graphs, Capability::host_kernels) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  Expected expected;
  const anyplace_kernel kernel = backend.kernel(compare, &expected);
  anyplace_graph graph = 0;
  for (const std::uint64_t seed : {1, 2}) {
    expected.values.clear();
    for (const std::uint32_t size : {1u, 8u, 100u}) expected.values.push_back(pattern(size, seed));
    LongArgument arguments[3];
    LongLaunch launch;
    std::memset(arguments, 0xee, sizeof(arguments));
    std::memset(&launch, 0xee, sizeof(launch));
    for (std::size_t i = 0; i < 3; ++i) {
      const Bytes& value = expected.values[i];
      arguments[i].argument = {ANYPLACE_ARGUMENT_VALUE, static_cast<std::uint32_t>(value.size()), value.data()};
    }
    launch.launch = launch_of(8);
    launch.launch.struct_size = sizeof(launch);
    launch.launch.argument_count = 3;
    launch.launch.argument_stride = sizeof(LongArgument);
    launch.launch.arguments = &arguments[0].argument;
    GraphDescription description(GraphDescription::Newer{16});
    description.kernel(kernel, &launch.launch);
    if (graph == 0) {
      graph = create_graph(backend, description);
    } else if (!update_graph(backend, graph, description)) {
      break;
    }
    MUST(backend, graph_launch, graph, stream);
    backend.synchronize(stream);
    CHECK_EQUAL(expected.blocks.load(), static_cast<int>(8 * seed));
    CHECK_EQUAL(expected.wrong.load(), 0);
  }
  MUST(backend, graph_destroy, graph);
  MUST(backend, kernel_destroy, kernel);
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
  GraphDescription description;
  description.copy_within(b, a, bytes, backend.device());
  const anyplace_graph graph = create_graph(backend, description);
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

/// The core puts a marker behind each launch, which orders the null stream's work and so may hide that the launch
/// itself doesn't. Here there is no marker.
struct Side {
  std::string label;
  bool null_launches;
};
const std::vector<Side> sides = {{"the default stream waits for an earlier launch on a blocking stream", false},
                                 {"a blocking stream waits for an earlier launch on the default stream", true}};

ANYPLACE_CASES(sides, "graph table", "graphs.launch", "work of {}", Capability::graphs, Capability::blocking_streams,
               Capability::host_functions) {
  TableBackend backend(run);
  anyplace_stream_desc desc{};
  desc.struct_size = sizeof(desc);
  desc.cookie = 900001;
  anyplace_stream null = 0;
  MUST(backend, stream_default, backend.device(), &desc, &null);
  desc.flags = ANYPLACE_STREAM_BLOCKING;
  desc.cookie = 900002;
  anyplace_stream blocking = 0;
  MUST(backend, stream_create, backend.device(), &desc, &blocking);
  const anyplace_stream launcher = parameter.null_launches ? null : blocking;
  const anyplace_stream later = parameter.null_launches ? blocking : null;
  const anyplace_stream free = backend.stream();
  const anyplace_address source = backend.allocate(bytes);
  const anyplace_address destination = backend.allocate(bytes);
  for (const anyplace_address memory : {source, destination}) backend.fill(free, memory, 0x11, bytes);
  Signal open;
  // After a failed check the backend is shut down, which waits for its work, so the gate has to open.
  const struct AtEnd {
    const Signal& open;
    ~AtEnd() { open.set(); }
  } at_end{open};
  GraphDescription description;
  description.call([](void* user, anyplace_status) { static_cast<Signal*>(user)->wait(); }, &open);
  description.fill(source, 0x22, 1, bytes, {0});
  const anyplace_graph graph = create_graph(backend, description);
  MUST(backend, graph_launch, graph, launcher);
  MUST(backend, memory_copy, later, destination, source, bytes, ANYPLACE_COPY_DEVICE_TO_DEVICE);
  const auto is_done = [&] {
    std::int32_t done = 0;
    MUST(backend, stream_query, later, &done);
    return done != 0;
  };
  CHECK_STAYS_FALSE(is_done() || backend.read(free, destination, bytes) != Bytes(bytes, 0x11));
  open.set();
  backend.synchronize(later);
  CHECK_BYTES(backend.read(free, destination, bytes), Bytes(bytes, 0x22));
  backend.synchronize(launcher);
  MUST(backend, graph_destroy, graph);
}

ANYPLACE_CASE("graph table", "graphs.launch", "host functions are called with OK at each launch, and not otherwise",
              Capability::graphs, Capability::host_functions) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  Calls calls;
  GraphDescription description;
  description.call(count_call, &calls);
  description.call(count_call, &calls, {0});
  const anyplace_graph graph = create_graph(backend, description);
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
  GraphDescription description;
  description.event(ANYPLACE_GRAPH_NODE_EVENT_WAIT, waited);
  description.fill(memory, 0x22, 1, bytes, {0});
  description.event(ANYPLACE_GRAPH_NODE_EVENT_RECORD, recorded, {1});
  const anyplace_graph graph = create_graph(backend, description);
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

ANYPLACE_CASE("graph table", "graphs.faults",
              "the status that a kernel returns is reported with the cookie of the launch's stream", Capability::graphs,
              Capability::host_kernels) {
  TableBackend backend(run);
  const anyplace_stream first = backend.stream_with(815);
  const anyplace_stream second = backend.stream_with(816);
  const anyplace_kernel kernel = backend.kernel(fail);
  const anyplace_launch launch = launch_of(1);
  GraphDescription description;
  description.kernel(kernel, &launch);
  const anyplace_graph graph = create_graph(backend, description);
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

// ---- Nothing is left behind

struct Lived {
  std::string label;
  bool event;
};
/// Some devices have no events in graphs; their other graphs still must leave nothing behind.
const std::vector<Lived> lived = {{"graphs", false}, {"graphs with an event", true}};

ANYPLACE_CASES(lived, "graph table", "graphs.life",
               "{} that are made, updated, launched and destroyed leave nothing behind", Capability::graphs) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(2 * bytes);
  const anyplace_event event = backend.event();
  check_leaves_nothing(backend, 50, 0, [&] {
    const auto describe = [&](GraphDescription& description) {
      description.fill(memory, 1, 1, bytes);
      for (std::uint32_t node = 0; node < 10; ++node) {
        description.copy_within(memory + bytes, memory, bytes, backend.device(), {node});
      }
      if (parameter.event) description.event(ANYPLACE_GRAPH_NODE_EVENT_RECORD, event, {10});
    };
    GraphDescription description;
    describe(description);
    const anyplace_graph graph = create_graph(backend, description);
    for (int round = 0; round < 2; ++round) {
      MUST(backend, graph_launch, graph, stream);
      GraphDescription next;
      describe(next);
      update_graph(backend, graph, next);
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
    GraphDescription description;
    description.fill(memory, 1, 1, bytes);
    description.empty({0});
    MUST(backend, graph_destroy, create_graph(backend, description));
  });
}

ANYPLACE_CASE("graph table", "graphs.life", "the stream of a launch may be destroyed, and the launch completes",
              Capability::graphs) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_stream other = backend.stream();
  const anyplace_address memory = backend.allocate(bytes);
  backend.fill(other, memory, 0x11, bytes);
  GraphDescription description;
  description.fill(memory, 0x22, 1, bytes);
  const anyplace_graph graph = create_graph(backend, description);
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
  GraphDescription description;
  description.call(count_call, &calls);
  description.call(count_call, &calls, {0});
  const anyplace_graph graph = create_graph(backend, description);
  MUST(backend, graph_launch, graph, stream);
  TableBackend::require(backend.shut_down(ANYPLACE_FOREVER), "shutdown", {});
  CHECK_EQUAL(calls.right.load(), 2);
}

}  // namespace
}  // namespace anyplace::conformance::graphs_table_cases
