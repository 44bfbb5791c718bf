// SPDX-License-Identifier: Apache-2.0
//
// Graphs and several devices: copies between devices are nodes like others, and a graph belongs to one device. Waits
// for another device's events are in graphs_events.cpp.
#include "support.h"

namespace anyplace::conformance::graphs_devices_cases {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t bytes = 1 << 20;

Bytes all_of(std::uint8_t value) { return Bytes(bytes, value); }

ANYPLACE_CASE("graphs", "graphs.order", "copies to another device and back are in their places among the nodes",
              Capability::host_functions, second_device) {
  const Signal open;
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Stream elsewhere = CALL(Stream(run.second()));
  const Buffer here = filled(stream, bytes, 0x11);
  const Buffer there = filled(elsewhere, bytes, 0x22);
  const Buffer back = filled(stream, bytes, 0x33);
  const Buffer copied = filled(stream, bytes, 0);
  constexpr std::uint64_t part = bytes - 37;
  // The graph is captured, so that all its nodes belong to the stream's device and the backend may launch it as one.
  CALL(stream.begin_capture());
  CALL(stream.launch_host_func([open] { open.wait(); }));
  CALL(stream.memset8(here.sub(5, part), 0x44));
  CALL(stream.copy(there.sub(3, part), here.sub(5, part)));
  CALL(stream.copy(back.sub(7, part), there.sub(3, part)));
  CALL(stream.memset8(here, 0x55));
  CALL(stream.copy(there.sub(3, 1), here.sub(0, 1)));
  const GraphExec exec = CALL(stream.end_capture().instantiate());
  CALL(exec.launch(stream));
  CALL(stream.copy(copied, back));
  CHECK_STAYS_FALSE(read(there) != all_of(0x22) || read(back) != all_of(0x33) || stream.query());
  open.set();
  Bytes expected = all_of(0x33);
  std::fill_n(expected.begin() + 7, part, std::uint8_t{0x44});
  CHECK_BYTES(read(stream, copied), expected);
  CHECK_BYTES(read(stream, here), all_of(0x55));
  expected = all_of(0x22);
  std::fill_n(expected.begin() + 3, part, std::uint8_t{0x44});
  expected[3] = 0x55;
  CHECK_BYTES(read(there), expected);
}

ANYPLACE_CASE("graphs", "graphs.launch", "a launch that copies to another device is in its stream's order",
              Capability::host_functions, second_device) {
  HostGate gate;
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Stream elsewhere = CALL(Stream(run.second()));
  const Buffer here = filled(stream, bytes, 1);
  const Buffer there = filled(elsewhere, bytes, 0);
  CALL(stream.begin_capture());
  CALL(stream.copy(there, here));
  const GraphExec exec = CALL(stream.end_capture().instantiate());
  gate.hold(stream);
  CALL(stream.memset8(here, 2));
  CALL(exec.launch(stream));
  CALL(stream.memset8(here, 3));
  CALL(elsewhere.wait_stream(stream));
  CHECK_STAYS_FALSE(elsewhere.query() || read(there) != all_of(0));
  gate.open();
  CHECK_BYTES(read(elsewhere, there), all_of(2));
}

ANYPLACE_CASE("graphs", "graphs.update", "copies between devices change for later launches and not for earlier ones",
              Capability::host_functions, second_device) {
  HostGate gate;
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Stream elsewhere = CALL(Stream(run.second()));
  const Buffer there[2] = {filled(elsewhere, bytes, 0), filled(elsewhere, bytes, 0)};
  const Buffer seen = filled(stream, 6 * bytes, 9);
  std::vector<Buffer> from;
  for (std::uint8_t number = 0; number < 4; ++number) from.push_back(filled(stream, bytes, number));
  // Each graph has another source and another destination.
  const auto make = [&](std::uint8_t number) {
    CALL(stream.begin_capture());
    CALL(stream.copy(there[number % 2], from[number]));
    return CALL(stream.end_capture());
  };
  const Graph graphs[3] = {make(1), make(2), make(3)};
  const GraphExec exec = CALL(graphs[0].instantiate());
  gate.hold(stream);
  for (std::uint8_t number = 1; number <= 3; ++number) {
    if (number > 1) CALL(exec.update(graphs[number - 1]));
    CALL(exec.launch(stream));
    for (std::uint64_t i = 0; i < 2; ++i) {
      CALL(stream.copy(seen.sub(((number - 1u) * 2 + i) * bytes, bytes), there[i]));
    }
  }
  gate.open();
  Bytes expected;
  for (const int value : {0, 1, 2, 1, 2, 3}) expected.insert(expected.end(), bytes, static_cast<std::uint8_t>(value));
  CHECK_BYTES(read(stream, seen), expected);
}

// ---- The graph's device

ANYPLACE_CASE("graphs", "graphs.launch", "graphs of two devices are each in the order of their own device's streams",
              Capability::host_functions, second_device) {
  const Device devices[2] = {run.device(), run.second()};
  for (std::size_t held = 0; held < 2; ++held) {
    HostGate gate;
    std::vector<Stream> streams;
    std::vector<Buffer> sources;
    std::vector<Buffer> destinations;
    std::vector<GraphExec> execs;
    for (const Device& device : devices) {
      streams.push_back(CALL(Stream(device)));
      sources.push_back(filled(streams.back(), bytes, 1));
      destinations.push_back(filled(streams.back(), bytes, 0));
      Graph graph(device);
      graph.add_copy(graph.add_memset8({}, sources.back().sub(0, 1), 1), destinations.back(), sources.back());
      execs.push_back(CALL(graph.instantiate()));
    }
    gate.hold(streams[held]);
    for (std::size_t i = 0; i < 2; ++i) CALL(execs[i].launch(streams[i]));
    CHECK(CALL(streams[1 - held].synchronize(1h)));
    CHECK_BYTES(read(destinations[1 - held]), all_of(1));
    CHECK_STAYS_FALSE(streams[held].query() || read(destinations[held]) != all_of(0));
    gate.open();
    CHECK_BYTES(read(streams[held], destinations[held]), all_of(1));
  }
}

}  // namespace
}  // namespace anyplace::conformance::graphs_devices_cases
