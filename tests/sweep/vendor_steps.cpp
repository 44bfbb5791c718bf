// SPDX-License-Identifier: Apache-2.0
// What pipeline.cpp runs beside steps.h: graphs of the vendor's own, and what is exported to other processes.
// shortage.cpp has more of graphs (everything.cpp).
#include <atomic>
#include <memory>

#include "steps.h"

namespace sweep {

using anyplace::Buffer;
using anyplace::Capability;
using anyplace::Device;
using anyplace::Event;
using anyplace::Stream;

void run_graph(const Stream& stream, anyplace::KernelView fill, const Buffer& numbers) {
  const Device device = stream.device();
  const Event reached(device);
  // A graph of Level Zero's own calls no host and records nothing.
  const bool calls = device.has(Capability::host_functions) && device.backend() != "levelzero";
  const auto called = std::make_shared<std::atomic<int>>(0);
  constexpr std::uint32_t half = count / 2;
  const auto built = [&](std::uint32_t value) {
    anyplace::Graph graph(device);
    const anyplace::GraphNode first = graph.add_memset32({}, numbers, 0);
    const anyplace::GraphNode filled = graph.add_kernel(first, fill, {half / 64, 64}, numbers, half, value);
    anyplace::GraphNode last = graph.add_copy(filled, numbers.sub(half * 4, half * 4), numbers.sub(0, half * 4));
    if (!calls) return graph;
    last = graph.add_host_function(last, [called] { ++*called; });
    graph.add_event_record(last, reached);
    return graph;
  };
  const anyplace::GraphExec exec = built(4).instantiate();
  exec.launch(stream);
  exec.update(built(5));
  exec.launch(stream);
  Numbers& back = host_numbers();
  stream.copy(back, numbers);
  stream.synchronize();
  expect_all(back, 5, "an updated graph's work");
  expect(!calls || *called == 2, "a graph's host function");
  expect(reached.query(), "an event that a graph recorded");
  // What the update replaced has ended then: a call that fails meanwhile, on another thread, would be a later step's.
  anyplace::empty_cache(device);
}

void run_sharing(const std::string& place) {
  const Device device(place);
  if (device.has(Capability::interprocess_memory)) {
    const Stream stream(device);
    const Buffer buffer(stream, count * 4, {.shareable = true});
    expect(!buffer.export_handle().empty(), "a buffer's handle");
  }
  if (device.has(Capability::interprocess_events)) {
    const Event event(device, {.interprocess = true});
    expect(!event.export_handle().empty(), "an event's handle");
  }
}

}  // namespace sweep
