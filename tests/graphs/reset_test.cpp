// SPDX-License-Identifier: Apache-2.0
//
// Graphs whose device was reset or lost. On cpu_sim's table, whose device_reset only says that it was called
// (streams/plugins/forward.h): `replayed` has no graphs of its own, `native` has cpu_sim's.
#include <functional>
#include <string>
#include <utility>

#include "graphs/graph_support.h"
#include "streams/plugins/forward.h"

namespace reset_test {

using namespace anyplace;
using test::code_of;
using test::required_error;

struct Refused {
  const char* name;
  std::function<void()> call;
};

void require_ended(const std::vector<Refused>& calls) {
  for (const auto& [name, call] : calls) {
    INFO(name);
    const Error error = required_error(call);
    CHECK(error.code() == ErrorCode::invalid_handle);
    CHECK(std::string(error.problem()).find("was reset") != std::string::npos);
    CHECK_FALSE(error.remedy().empty());
  }
}

TEST_CASE("Given a device that is reset then its graphs end before and every call with them says so") {
  const std::string name = GENERATE(as<std::string>{}, "native", "replayed");
  test::Forward& forward = test::new_forward();
  forward.install(name);
  const Device device(name + ":0");
  Graph graph(device);
  GraphExec exec;
  {
    const Stream stream(device);
    const Buffer buffer(stream, 256);
    const Kernel kernel(device, [](const Block&) {});
    const GraphNode first = graph.add_memset8({}, buffer, 1);
    const std::vector<GraphNode> branches = {graph.add_kernel(first, kernel, {}), graph.add_empty(first)};
    graph.add_empty(branches);
    exec = graph.instantiate();
    exec.launch(stream);
  }
  REQUIRE(exec.is_native() == (name == "native"));
  REQUIRE(forward.live_graphs == (name == "native" ? 1 : 0));
  Graph other(Device(name + ":1"));
  const GraphExec elsewhere = other.instantiate();
  device.reset();
  CHECK(forward.was_reset);
  CHECK(forward.graphs_at_reset == 0);
  const Stream stream(device);
  require_ended({{"launch", [&] { exec.launch(stream); }},
                 {"update", [&] { exec.update(graph); }},
                 {"GraphExec::size", [&] { static_cast<void>(exec.size()); }},
                 {"is_native", [&] { static_cast<void>(exec.is_native()); }},
                 {"instantiate", [&] { static_cast<void>(graph.instantiate()); }},
                 {"add_empty", [&] { static_cast<void>(graph.add_empty({})); }},
                 {"size", [&] { static_cast<void>(graph.size()); }},
                 {"to_dot", [&] { static_cast<void>(graph.to_dot()); }},
                 {"as a child", [&] { static_cast<void>(other.add_child_graph({}, graph)); }}});
  CHECK_NOTHROW(elsewhere.launch(Stream(Device(name + ":1"))));
  // What is made since works.
  const Buffer buffer(stream, 64);
  Graph again(device);
  again.add_memset8({}, buffer, 7);
  const GraphExec next = again.instantiate();
  next.launch(stream);
  std::vector<std::uint8_t> bytes(64);
  stream.copy(bytes, buffer);
  stream.synchronize();
  CHECK(bytes == std::vector<std::uint8_t>(64, 7));
}

TEST_CASE("Given a device that is reset then a graph of another device that uses its memory ends too") {
  test::Forward& forward = test::new_forward();
  forward.install("native");
  const Device device("native:0");
  const Device other("native:1");
  const Buffer here(device, 256);
  const Buffer there(other, 256);
  Graph graph(other);
  graph.add_copy({}, there, here);
  const GraphExec exec = graph.instantiate();
  device.reset();
  require_ended({{"launch", [&] { exec.launch(Stream(other)); }},
                 {"instantiate", [&] { static_cast<void>(graph.instantiate()); }}});
}

TEST_CASE("Given a device that is reset then a graph pool from before is refused and a captured graph has ended") {
  test::Forward& forward = test::new_forward();
  forward.install("native");
  const Device device("native:0");
  const GraphPool pool(device);
  Graph captured;
  {
    const Stream stream(device);
    stream.begin_capture(CaptureMode::global, pool);
    const Buffer inside(stream, 4096);
    stream.memset8(inside, 1);
    captured = stream.end_capture();
  }
  const GraphExec exec = captured.instantiate();
  device.reset();
  const Stream stream(device);
  require_ended({{"begin_capture", [&] { stream.begin_capture(CaptureMode::global, pool); }},
                 {"launch", [&] { exec.launch(stream); }},
                 {"nodes", [&] { static_cast<void>(captured.nodes()); }}});
  CHECK(stream.capture_status() == CaptureStatus::none);
}

TEST_CASE("Given a lost device then nothing is added to its graph any more") {
  test::Forward& forward = test::new_forward();
  forward.install("native");
  const Device device("native:0");
  const Stream stream(device);
  Graph graph(device);
  const GraphNode first = graph.add_empty({});
  const GraphNode second = graph.add_empty({});
  forward.lost_device = 0;
  REQUIRE(code_of([&] { static_cast<void>(stream.query()); }) == ErrorCode::device_lost);
  CHECK(code_of([&] { static_cast<void>(graph.add_empty({})); }) == ErrorCode::device_lost);
  CHECK(code_of([&] { graph.add_dependency(first, second); }) == ErrorCode::device_lost);
  CHECK(code_of([&] { static_cast<void>(graph.instantiate()); }) == ErrorCode::device_lost);
  CHECK(graph.size() == 2);
}

}  // namespace reset_test
