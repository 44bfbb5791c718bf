// SPDX-License-Identifier: Apache-2.0
// What a graph keeps, and memory that is allocated inside a capture.
#include <cstring>
#include <thread>

#include "graphs/graph_support.h"

namespace graph_memory_test {

using namespace anyplace;
using test::graph_device;
using test::HostGate;
using test::Number;
using test::required_error;

/// Takes so many buffers of that size from the cache and writes on them that no free memory is left untouched.
void write_over_free_memory(const Device& device, std::uint64_t bytes) {
  const Stream stream(device);
  std::vector<Buffer> buffers;
  for (int i = 0; i < 32; ++i) {
    buffers.emplace_back(stream, bytes);
    stream.memset8(buffers.back(), 0xee);
  }
  stream.synchronize();
}

TEST_CASE("Given a buffer that is freed after the capture then the graph keeps it until it goes itself") {
  const Device device = graph_device();
  const Stream stream(device);
  const Number result(device, 0);
  const Kernel add = Kernel(device, [](const Block&, std::uint64_t* to, const std::uint64_t* from) { *to += *from; });
  const std::uint64_t before = memory_allocated(device);
  {
    GraphExec exec;
    {
      Buffer input(stream, 8);
      const std::uint64_t seven = 7;
      stream.copy(input, ConstHostSpan(&seven, 8));
      stream.synchronize();
      const bool freed_inside = GENERATE(false, true);
      stream.begin_capture();
      stream.launch(add, {}, result.buffer, input);
      if (freed_inside) input = Buffer();
      exec = stream.end_capture().instantiate();
    }
    REQUIRE(memory_allocated(device) > before);
    write_over_free_memory(device, 8);
    exec.launch(stream);
    exec.launch(stream);
    stream.synchronize();
    REQUIRE(result.get() == 14);
  }
  device.synchronize();
  while (memory_allocated(device) > before) std::this_thread::yield();
}

TEST_CASE("Given another device's buffer that goes while a copy from it is captured then the graph keeps it") {
  const Device device("cpu_sim:0"), other("cpu_sim:1");
  const Stream stream(device);
  const Number result(device, 0);
  Number input(other, 7);
  stream.begin_capture();
  stream.copy(result.buffer, input.buffer);
  input.buffer = Buffer();
  const GraphExec exec = stream.end_capture().instantiate();
  const Buffer next(input.stream, 8);
  input.stream.memset8(next, 0xee);
  input.stream.synchronize();
  exec.launch(stream);
  stream.synchronize();
  REQUIRE(result.get() == 7);
}

TEST_CASE("Given buffers that nodes name then a graph that is built keeps them and others can be kept") {
  const Device device = graph_device();
  const Stream stream(device);
  const Number result(device, 0);
  Graph graph(device);
  {
    const Buffer input(stream, 8);
    stream.memset8(input, 1);
    const Buffer hidden(stream, 8);
    stream.synchronize();
    graph.add_copy({}, result.buffer, input);
    graph.keep(hidden);
  }
  write_over_free_memory(device, 8);
  graph.instantiate().launch(stream);
  stream.synchronize();
  REQUIRE(result.get() == 0x0101010101010101);
}

TEST_CASE("Given pinned memory that its owner lets go of then the graph keeps it and nobody else has it") {
  const Device device = graph_device();
  const Stream stream(device);
  const Number result(device, 0);
  constexpr std::uint64_t seven = 7;
  const auto filled = [&](std::uint8_t value) {
    HostBuffer buffer(device, 8);
    std::memset(buffer.data(), value, 8);
    return buffer;
  };
  HostBuffer source = filled(7);
  HostBuffer target = filled(0);
  const std::byte* const target_data = target.data();
  const std::string way = GENERATE(as<std::string>{}, "captured, let go of inside", "captured", "built", "kept");
  Graph graph(device);
  if (way == "built") {
    const GraphNode up = graph.add_copy({}, result.buffer, ConstHostSpan(source.data(), 8));
    graph.add_copy(up, HostSpan(target.data(), 8), result.buffer);
  } else if (way == "kept") {
    graph.add_memset8({}, result.buffer, 0);
    graph.keep(source);
    graph.keep(target);
    required_error(ErrorCode::invalid_handle, [&] { graph.keep(HostBuffer()); });
  } else {
    stream.begin_capture();
    stream.copy(result.buffer, ConstHostSpan(source.data(), 8));
    stream.copy(HostSpan(target.data(), 8), result.buffer);
    if (way != "captured") source = HostBuffer();
    if (way != "captured") target = HostBuffer();
    graph = stream.end_capture();
  }
  source = HostBuffer();
  target = HostBuffer();
  CHECK(host_memory_stats(device).allocations == 0);
  {
    const GraphExec exec = graph.instantiate();
    graph = Graph(device);
    std::vector<HostBuffer> others;
    for (int i = 0; i < 8; ++i) others.push_back(filled(0xee));
    exec.launch(stream);
    stream.synchronize();
    for (const HostBuffer& other : others) {
      CHECK(other.data() != target_data);
      CHECK(*reinterpret_cast<const std::uint64_t*>(other.data()) == 0xeeeeeeeeeeeeeeee);
    }
    CHECK(result.get() == (way == "kept" ? 0 : seven * 0x0101010101010101));
  }
  empty_cache(device);
  CHECK(host_memory_stats(device).reserved_bytes == 0);
}

TEST_CASE("Given buffers that come and go inside a capture then one's memory is the next one's that comes after it") {
  const Device device = graph_device();
  const Stream stream(device);
  const Stream branch(device);
  stream.begin_capture();
  std::uint64_t first = 0;
  {
    const Buffer buffer(stream, 4096);
    first = buffer.address();
    stream.memset8(buffer, 1);
  }
  const Buffer again(stream, 4096);
  CHECK(again.address() == first);
  const Event fork = stream.record_event();
  std::uint64_t second = 0;
  {
    const Buffer buffer(stream, 8192);
    second = buffer.address();
    stream.memset8(buffer, 1);
  }
  branch.wait_event(fork);
  const Buffer elsewhere(branch, 8192);
  CHECK(elsewhere.address() != second);
  branch.wait_stream(stream);
  const Buffer behind(branch, 8192);
  CHECK(behind.address() == second);
  stream.wait_stream(branch);
  const Graph graph = stream.end_capture();
  CHECK(graph.size() == 2);
}

TEST_CASE("Given a captured buffer that other streams use then its memory is the next one's only behind their work") {
  const Device device = graph_device();
  const Stream stream(device);
  const Stream branch(device);
  const Buffer out(stream, 4096);
  out.record_stream(branch);
  stream.begin_capture();
  Buffer used(stream, 4096);
  const std::uint64_t first = used.address();
  stream.memset8(used, 1);
  branch.wait_event(stream.record_event());
  used.record_stream(branch);
  branch.copy(out, used);
  used = Buffer();
  const Buffer unordered(stream, 4096);
  CHECK(unordered.address() != first);
  stream.wait_stream(branch);
  const Buffer ordered(stream, 4096);
  CHECK(ordered.address() == first);
  static_cast<void>(stream.end_capture());
}

TEST_CASE("Given a buffer of an earlier capture that a later one uses then its memory is the next one's behind that") {
  const Device device = graph_device();
  const Stream stream(device);
  const Stream branch(device);
  const Buffer out(stream, 4096);
  const GraphPool pool(device);
  std::vector<Graph> graphs;
  stream.begin_capture(CaptureMode::global, pool);
  Buffer earlier(stream, 4096);
  const std::uint64_t first = earlier.address();
  stream.memset8(earlier, 1);
  const Event keeps_the_capture = stream.record_event();
  graphs.push_back(stream.end_capture());

  stream.begin_capture(CaptureMode::global, pool);
  branch.wait_event(stream.record_event());
  stream.copy(out, earlier);
  earlier = Buffer();
  const Buffer unordered(branch, 4096);
  CHECK(unordered.address() != first);
  branch.memset8(unordered, 2);
  stream.wait_stream(branch);
  graphs.push_back(stream.end_capture());

  stream.begin_capture(CaptureMode::global, pool);
  const Buffer ordered(stream, 4096);
  CHECK(ordered.address() == first);
  graphs.push_back(stream.end_capture());
}

TEST_CASE("Given a graph's buffer that pending work outside of captures uses then no later capture has its memory") {
  const Device device = graph_device();
  const Stream stream(device);
  const Stream reader(device);
  const bool on_its_own = GENERATE(false, true);
  const Stream& user = on_its_own ? stream : reader;
  const Stream capturing(device);
  const GraphPool pool(device);
  std::vector<std::uint8_t> out(4096);
  stream.begin_capture(CaptureMode::global, pool);
  Buffer output(stream, 4096);
  const std::uint64_t first = output.address();
  stream.memset8(output, 1);
  const Graph graph = stream.end_capture();
  const GraphExec exec = graph.instantiate();
  exec.launch(stream);
  stream.synchronize();

  HostGate gate;
  gate.block(user);
  user.copy(out, output);
  output.record_stream(user);
  output = Buffer();
  capturing.begin_capture(CaptureMode::global, pool);
  const Buffer meanwhile(capturing, 4096);
  CHECK(meanwhile.address() != first);
  static_cast<void>(capturing.end_capture());
  gate.open();
  user.synchronize();
  device.synchronize();
  capturing.begin_capture(CaptureMode::global, pool);
  const Buffer afterwards(capturing, 4096);
  CHECK(afterwards.address() == first);
  static_cast<void>(capturing.end_capture());
}

TEST_CASE("Given a pool of another device or a null one then a capture with it is refused") {
  const Device device = graph_device();
  const Device second(device.place().backend() + ":1");
  const Stream stream(device);
  const GraphPool pool(second);
  required_error(ErrorCode::invalid_argument, [&] { stream.begin_capture(CaptureMode::global, pool); });
  required_error(ErrorCode::invalid_handle, [&] { stream.begin_capture(CaptureMode::global, GraphPool()); });
  REQUIRE_FALSE(stream.is_capturing());
}

TEST_CASE("Given a graph's output when the graph has gone then the buffer is there and its memory goes with it") {
  const Device device = graph_device();
  const Stream stream(device);
  const std::uint64_t before = memory_allocated(device);
  {
    Buffer output;
    {
      stream.begin_capture();
      output = Buffer(stream, 8);
      stream.memset8(output, 3);
      const GraphExec exec = stream.end_capture().instantiate();
      exec.launch(stream);
    }
    std::uint64_t value = 0;
    stream.copy(HostSpan(&value, 8), output);
    stream.synchronize();
    REQUIRE(value == 0x0303030303030303);
    REQUIRE(memory_allocated(device) > before);
  }
  device.synchronize();
  while (memory_allocated(device) > before) std::this_thread::yield();
}

TEST_CASE("Given a capture that is invalidated then what was freed and made meanwhile goes") {
  const Device device = graph_device();
  const Stream stream(device);
  const std::uint64_t before = memory_allocated(device);
  const Event event(device);  // whose record stays one of that capture
  {
    Buffer input(stream, 1 << 20);
    stream.begin_capture();
    const Buffer made(stream, 1 << 20);
    stream.record_event(event);
    stream.memset8(input, 1);
    stream.memset8(made, 1);
    input = Buffer();
    test::code_of([&] { static_cast<void>(stream.query()); });
    required_error(ErrorCode::capture_invalidated, [&] { const Buffer more(stream, 64); });
    required_error(ErrorCode::capture_invalidated, [&] { static_cast<void>(stream.end_capture()); });
  }
  device.synchronize();
  while (memory_allocated(device) > before) std::this_thread::yield();
}

TEST_CASE("Given managed memory on a captured stream then it is refused with the reason") {
  const Device device = graph_device();
  const Stream stream(device);
  if (!device.has(Capability::managed_memory)) return;
  stream.begin_capture();
  required_error(ErrorCode::capturing, [&] { const Buffer buffer(stream, 64, {.kind = MemoryKind::managed}); });
  required_error(ErrorCode::capture_invalidated, [&] { static_cast<void>(stream.end_capture()); });
}

}  // namespace graph_memory_test
