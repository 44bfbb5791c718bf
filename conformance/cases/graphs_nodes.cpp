// SPDX-License-Identifier: Apache-2.0
// Graphs: what nodes of each kind do, and that each comes after its dependencies.
#include <atomic>
#include <cstring>
#include <functional>

#include "support.h"

namespace anyplace::conformance::graphs_nodes_cases {
namespace {

constexpr std::uint64_t bytes = 1 << 14;

void launch_and_wait(const Graph& graph, const Stream& stream) {
  const GraphExec exec = CALL(graph.instantiate());
  CALL(exec.launch(stream));
  CALL(stream.synchronize());
}

// ---- Fills

struct Fill {
  std::string label;
  std::uint64_t width;
  std::uint64_t count;
};
const std::vector<Fill> fills = {
    {"one byte", 1, 1},          {"13 bytes", 1, 13},
    {"one 16-bit number", 2, 1}, {"501 16-bit numbers", 2, 501},
    {"one 32-bit number", 4, 1}, {"2999 32-bit numbers", 4, 2999},
};

ANYPLACE_CASES(fills, "graphs", "graphs.nodes", "a fill writes {} and nothing around") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 0xee);
  const BufferView part = buffer.sub(64, parameter.width * parameter.count);
  Graph graph(device);
  Bytes expected(bytes, 0xee);
  constexpr std::uint8_t element[] = {0x11, 0x22, 0x33, 0x44};
  std::uint32_t value = 0;
  std::memcpy(&value, element, parameter.width);
  for (std::uint64_t i = 0; i < parameter.count; ++i) {
    std::memcpy(expected.data() + 64 + i * parameter.width, element, parameter.width);
  }
  if (parameter.width == 1) CALL(graph.add_memset8({}, part, static_cast<std::uint8_t>(value)));
  if (parameter.width == 2) CALL(graph.add_memset16({}, part, static_cast<std::uint16_t>(value)));
  if (parameter.width == 4) CALL(graph.add_memset32({}, part, value));
  launch_and_wait(graph, stream);
  CHECK_BYTES(read(buffer), expected);
}

struct Narrow {
  std::string label;
  std::uint64_t width;
};
const std::vector<Narrow> narrow = {{"bytes", 1}, {"16-bit numbers", 2}};

/// A backend that fills with wider elements where possible must choose them correctly: none may begin before the first
/// byte or end after the last, and no byte may be missed.
ANYPLACE_CASES(narrow, "graphs", "graphs.nodes", "fills of {} in each count from each address write that and no more") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  constexpr std::uint64_t slot = 64;
  constexpr std::uint64_t counts = 20;
  const Buffer buffer = filled(stream, 8 * counts * slot, 0xee);
  Bytes expected(8 * counts * slot, 0xee);
  Graph graph(device);
  for (std::uint64_t offset = 0; offset < 8; offset += parameter.width) {
    for (std::uint64_t count = 1; count <= counts; ++count) {
      const std::uint64_t begin = (offset * counts + count - 1) * slot + 8 + offset;
      const std::uint8_t element[2] = {static_cast<std::uint8_t>(count), static_cast<std::uint8_t>(0x80 + count)};
      const BufferView part = buffer.sub(begin, count * parameter.width);
      if (parameter.width == 1) CALL(graph.add_memset8({}, part, element[0]));
      if (parameter.width == 2)
        CALL(graph.add_memset16({}, part, static_cast<std::uint16_t>(element[0] | element[1] << 8)));
      for (std::uint64_t i = 0; i < count * parameter.width; ++i) expected[begin + i] = element[i % parameter.width];
    }
  }
  launch_and_wait(graph, stream);
  CHECK_BYTES(read(buffer), expected);
}

// ---- Copies

ANYPLACE_CASE("graphs", "graphs.nodes", "copies go from the host, within the device, and to the host") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer first = filled(stream, bytes, 0);
  const Buffer second = filled(stream, bytes, 0);
  const Bytes in = pattern(bytes - 7);
  Bytes out(bytes, 0xee);
  Graph graph(device);
  const GraphNode up = graph.add_copy({}, first.sub(3, bytes - 7), in);
  const GraphNode within = graph.add_copy(up, second, first);
  graph.add_copy(within, out, second);
  launch_and_wait(graph, stream);
  Bytes expected(bytes, 0);
  std::copy(in.begin(), in.end(), expected.begin() + 3);
  CHECK_BYTES(out, expected);
}

ANYPLACE_CASE("graphs", "graphs.nodes", "copies of pinned memory read and write it at each launch",
              Capability::pinned_memory) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 0);
  const HostBuffer in = CALL(HostBuffer(device, bytes));
  const HostBuffer out = CALL(HostBuffer(device, bytes));
  Graph graph(device);
  graph.add_copy(graph.add_copy({}, buffer, {in.data(), in.size()}), {out.data(), out.size()}, buffer);
  const GraphExec exec = CALL(graph.instantiate());
  for (int round = 1; round < 10; ++round) {
    std::memset(in.data(), round, bytes);
    CALL(exec.launch(stream));
    CALL(stream.synchronize());
    CHECK(std::memcmp(in.data(), out.data(), bytes) == 0);
  }
}

struct Shape {
  std::string label;
  std::uint64_t width;
  std::uint64_t rows;
  std::uint64_t destination_pitch;
  std::uint64_t source_pitch;
};
const std::vector<Shape> shapes = {
    {"two lines", 100, 2, 128, 112},
    {"a gap in the source", 100, 37, 100, 256},
    {"a gap in the destination", 100, 37, 256, 100},
    {"odd widths and pitches", 37, 53, 41, 59},
    {"narrow lines", 1, 300, 5, 3},
};

std::uint64_t extent(std::uint64_t pitch, std::uint64_t width, std::uint64_t rows) {
  return pitch * (rows - 1) + width;
}

Bytes expected_lines(const Shape& shape, const Bytes& source, std::uint64_t all) {
  Bytes expected(static_cast<std::size_t>(all), 0xee);
  for (std::uint64_t row = 0; row < shape.rows; ++row) {
    std::memcpy(expected.data() + row * shape.destination_pitch, source.data() + row * shape.source_pitch, shape.width);
  }
  return expected;
}

ANYPLACE_CASES(shapes, "graphs", "graphs.nodes", "a pitched copy of {} on the device leaves what is between alone") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Bytes contents = pattern(extent(parameter.source_pitch, parameter.width, parameter.rows));
  const std::uint64_t all = extent(parameter.destination_pitch, parameter.width, parameter.rows) + 64;
  const Buffer source = upload(stream, contents);
  const Buffer destination = filled(stream, all, 0xee);
  Graph graph(device);
  CALL(graph.add_copy_2d({}, destination, parameter.destination_pitch, source, parameter.source_pitch, parameter.width,
                         parameter.rows));
  launch_and_wait(graph, stream);
  CHECK_BYTES(read(destination), expected_lines(parameter, contents, all));
}

ANYPLACE_CASES(shapes, "graphs", "graphs.nodes", "a pitched copy of {} goes to the device and back") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Bytes in = pattern(extent(parameter.source_pitch, parameter.width, parameter.rows));
  const std::uint64_t all = extent(parameter.destination_pitch, parameter.width, parameter.rows) + 64;
  const Buffer buffer = filled(stream, in.size(), 0);
  Bytes out(static_cast<std::size_t>(all), 0xee);
  CALL(stream.begin_capture());
  CALL(stream.copy_2d(buffer, parameter.source_pitch, in, parameter.source_pitch, parameter.width, parameter.rows));
  CALL(stream.copy_2d(out, parameter.destination_pitch, buffer, parameter.source_pitch, parameter.width,
                      parameter.rows));
  launch_and_wait(CALL(stream.end_capture()), stream);
  CHECK_BYTES(out, expected_lines(parameter, in, all));
}

ANYPLACE_CASE("graphs", "graphs.nodes", "copies go between two devices", second_device) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Stream elsewhere = CALL(Stream(run.second()));
  const Bytes contents = pattern(bytes);
  const Buffer here = upload(stream, contents);
  const Buffer there = filled(elsewhere, bytes, 0);
  const Buffer back = filled(stream, bytes, 0);
  Graph graph(device);
  graph.add_copy(graph.add_copy({}, there, here), back, there);
  const GraphExec exec = CALL(graph.instantiate());
  for (int round = 0; round < 3; ++round) {
    CALL(stream.memset8(back, 0));
    CALL(exec.launch(stream));
    CHECK_BYTES(read(stream, back), contents);
  }
}

// ---- Kernels

/// An argument with a gap in it, larger than any number type.
struct Large {
  std::uint8_t first;
  std::uint64_t numbers[9];
};

ANYPLACE_CASE("graphs", "graphs.nodes", "a callable gets its arguments as they were when the node was made",
              Capability::host_kernels) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, 64, 0);
  const Kernel kernel(device, [](const Block&, std::uint64_t* out, std::uint8_t a, std::uint16_t b, std::uint32_t c,
                                 std::uint64_t d, double e, Large f) {
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
    out[4] = static_cast<std::uint64_t>(e);
    out[5] = f.first + f.numbers[8];
  });
  std::uint8_t a = 200;
  std::uint16_t b = 60000;
  std::uint32_t c = 0xfedcba98;
  std::uint64_t d = 0xfedcba9876543210;
  double e = 123456;
  Large f{7, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
  Graph graph(device);
  CALL(graph.add_kernel({}, kernel, {}, buffer, a, b, c, d, e, f));
  const GraphExec exec = CALL(graph.instantiate());
  a = 0;
  b = 0;
  c = 0;
  d = 0;
  e = 0;
  f = {};
  for (int launch = 0; launch < 3; ++launch) {
    CALL(stream.memset8(buffer, 0));
    CALL(exec.launch(stream));
    const Bytes found = read(stream, buffer);
    std::uint64_t numbers[8];
    std::memcpy(numbers, found.data(), 64);
    const std::uint64_t expected[8] = {200, 60000, 0xfedcba98, 0xfedcba9876543210, 123456, 16, 0, 0};
    CHECK(std::equal(numbers, numbers + 8, expected));
  }
}

ANYPLACE_CASE("graphs", "graphs.nodes", "a callable runs over its grid, with shared memory", Capability::host_kernels) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  std::atomic<std::uint64_t> sum{0};
  std::atomic<int> wrong{0};
  const Kernel kernel(device, [&](const Block& block, int) {
    if (block.shared().size() != 512) ++wrong;
    block.for_each_thread(
        [&](const Thread& thread) { sum += thread.global[0] + 1000 * thread.global[1] + 1000000 * thread.global[2]; });
  });
  Graph graph(device);
  CALL(graph.add_kernel({}, kernel, {{3, 4, 5}, {2, 3, 1}, 512}, 0));
  launch_and_wait(graph, stream);
  std::uint64_t expected = 0;
  for (std::uint64_t x = 0; x < 6; ++x) {
    for (std::uint64_t y = 0; y < 12; ++y) {
      for (std::uint64_t z = 0; z < 5; ++z) expected += x + 1000 * y + 1000000 * z;
    }
  }
  CHECK_EQUAL(sum.load(), expected);
  CHECK_EQUAL(wrong.load(), 0);
}

ANYPLACE_CASE("graphs", "graphs.nodes", "a module's kernel gets its arguments as they were when the node was made",
              Capability::modules, test_module) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  ModuleOptions options;
  const bool argument = run.module_file().ends_with(".cl") || run.module_file().ends_with(".spv");
  if (argument) options.metadata.push_back({"block_sum", 2});
  const Module module = CALL(Module::from_file(device, run.module_file(), options));
  const Buffer values = filled(stream, 64 * 4, 0);
  const Buffer sums = filled(stream, 2 * 4, 0);
  const Buffer numbers = filled(stream, 48, 0);
  Graph graph(device);
  std::uint32_t three = 3;
  const GraphNode fill = graph.add_kernel({}, module.kernel("fill"), {2, 32}, values, std::uint32_t{64}, three);
  graph.add_kernel(fill, module.kernel("block_sum"), {2, 32, 32 * 4}, sums, values);
  std::uint64_t large = 0x0123456789abcdef;
  graph.add_kernel(fill, module.kernel("arguments"), {}, numbers, std::uint8_t{1}, std::uint16_t{2}, three, large, 1.0f,
                   std::int32_t{-4});
  three = 9;
  large = 0;
  launch_and_wait(graph, stream);
  std::uint32_t found_sums[2];
  std::memcpy(found_sums, read(sums).data(), 8);
  CHECK_EQUAL(found_sums[0], 96u);
  CHECK_EQUAL(found_sums[1], 96u);
  std::int64_t found[6];
  std::memcpy(found, read(numbers).data(), 48);
  const std::int64_t expected[6] = {1, 2, 3, 0x0123456789abcdef, 0x3f800000, -4};
  CHECK(std::equal(found, found + 6, expected));
}

// ---- Dependencies

/// A node that writes the second buffer, or notes that it ran.
struct Later {
  std::string label;
  std::vector<Capability> needs;
  std::function<void(Graph&, GraphNode after, BufferView to, BufferView from, const Signal& ran)> add;
};

const std::vector<Later> later_nodes = {
    {"a copy",
     {},
     [](Graph& g, GraphNode after, BufferView to, BufferView from, const Signal&) { g.add_copy(after, to, from); }},
    {"a pitched copy",
     {},
     [](Graph& g, GraphNode after, BufferView to, BufferView from, const Signal&) {
       g.add_copy_2d(after, to, 64, from, 64, 64, bytes / 64);
     }},
    {"a fill",
     {},
     [](Graph& g, GraphNode after, BufferView to, BufferView, const Signal&) { g.add_memset8(after, to, 2); }},
    {"a host function",
     {},
     [](Graph& g, GraphNode after, BufferView to, BufferView, const Signal& ran) {
       g.add_memset8(g.add_host_function(after, [ran] { ran.set(); }), to, 2);
     }},
    {"a callable",
     {Capability::host_kernels},
     [](Graph& g, GraphNode after, BufferView to, BufferView from, const Signal& ran) {
       const Kernel kernel(to.device(), [ran](const Block&, int) { ran.set(); });
       g.add_copy(g.add_kernel(after, kernel, {}, 0), to, from);
     }},
    {"what follows nothing",
     {},
     [](Graph& g, GraphNode after, BufferView to, BufferView from, const Signal&) {
       g.add_copy(g.add_empty(g.add_empty(after)), to, from);
     }},
    {"a graph",
     {},
     [](Graph& g, GraphNode after, BufferView to, BufferView from, const Signal&) {
       Graph child(to.device());
       child.add_empty({});
       child.add_copy({}, to, from);
       g.add_child_graph(after, child);
     }},
    {"what follows a graph without nodes",
     {},
     [](Graph& g, GraphNode after, BufferView to, BufferView from, const Signal&) {
       g.add_copy(g.add_child_graph(after, Graph(to.device())), to, from);
     }},
};

ANYPLACE_CASES(later_nodes, "graphs", "graphs.order", "{} waits for the node that it comes after",
               Capability::host_functions) {
  for (const Capability needed : parameter.needs) run.need(needed);
  const Signal open;
  const Signal ran;
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer from = filled(stream, bytes, 2);
  const Buffer to = filled(stream, bytes, 1);
  Graph graph(device);
  const GraphNode held = graph.add_host_function({}, [open] { open.wait(); });
  parameter.add(graph, held, to, from, ran);
  const GraphExec exec = CALL(graph.instantiate());
  CALL(exec.launch(stream));
  CHECK_STAYS_FALSE(ran.is_set() || read(to) != Bytes(bytes, 1));
  open.set();
  CHECK_BYTES(read(stream, to), Bytes(bytes, 2));
}

ANYPLACE_CASE("graphs", "graphs.order", "a node waits for each of several that it comes after",
              Capability::host_functions) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  for (int held = 0; held < 3; ++held) {
    const Signal open;
    const Buffer buffer = filled(stream, bytes, 1);
    const Buffer spare = filled(stream, bytes, 1);
    Graph graph(device);
    std::vector<GraphNode> roots;
    for (int root = 0; root < 3; ++root) {
      roots.push_back(root == held ? graph.add_host_function({}, [open] { open.wait(); })
                                   : graph.add_memset8({}, spare.sub(static_cast<std::uint64_t>(root) * 64, 64), 3));
    }
    graph.add_memset8(roots, buffer, 2);
    const GraphExec exec = CALL(graph.instantiate());
    CALL(exec.launch(stream));
    CHECK_STAYS_FALSE(read(buffer) != Bytes(bytes, 1));
    open.set();
    CHECK_BYTES(read(stream, buffer), Bytes(bytes, 2));
  }
}

ANYPLACE_CASE("graphs", "graphs.order", "a dependency that is added later counts as the others",
              Capability::host_functions) {
  const Signal open;
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  Graph graph(device);
  const GraphNode held = graph.add_host_function({}, [open] { open.wait(); });
  const GraphNode fill = graph.add_memset8({}, buffer, 2);
  CALL(graph.add_dependency(held, fill));
  CHECK_ERROR(invalid_argument, graph.add_dependency(fill, held));
  CHECK_ERROR(invalid_argument, graph.add_dependency(fill, fill));
  const GraphExec exec = CALL(graph.instantiate());
  CALL(exec.launch(stream));
  CHECK_STAYS_FALSE(read(buffer) != Bytes(bytes, 1));
  open.set();
  CHECK_BYTES(read(stream, buffer), Bytes(bytes, 2));
}

ANYPLACE_CASE("graphs", "graphs.nodes", "a graph tells its nodes, and what each comes after") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  const Buffer other = filled(stream, bytes, 1);
  Graph graph(device);
  const GraphNode empty = graph.add_empty({});
  const GraphNode fill = graph.add_memset8(empty, buffer, 2);
  const GraphNode copy = graph.add_copy({empty, fill}, other, buffer);
  const std::vector<GraphNodeInfo> nodes = CALL(graph.nodes());
  CHECK_EQUAL(nodes.size(), 3u);
  CHECK(nodes[0].kind == GraphNodeKind::empty && nodes[0].dependencies.empty());
  CHECK(nodes[1].kind == GraphNodeKind::memset && nodes[1].dependencies == std::vector<GraphNode>{empty});
  CHECK(nodes[2].kind == GraphNodeKind::copy && nodes[2].dependencies.size() == 2);
  CHECK_EQUAL(copy.index(), 2u);
  for (const GraphNodeInfo& node : nodes) CHECK_EQUAL(node.device, device);
  CHECK(CALL(graph.to_dot()).find("n1 -> n2") != std::string::npos);
}

}  // namespace
}  // namespace anyplace::conformance::graphs_nodes_cases
