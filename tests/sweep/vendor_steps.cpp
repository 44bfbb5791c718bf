// SPDX-License-Identifier: Apache-2.0
// What pipeline.cpp runs behind steps.h: graphs of the vendor's own, and what is exported to other processes. A failure
// of memory or threads in these is shortage.cpp's, which has more of graphs (everything.cpp).
#include <atomic>
#include <memory>

#include "steps.h"

namespace sweep {
namespace {

using anyplace::Buffer;
using anyplace::Capability;
using anyplace::Device;
using anyplace::Event;
using anyplace::Stream;

/// A graph is built, launched, updated, launched again and destroyed. As few calls as that takes: each is made to fail.
void graphs(const Device& device, const std::string& image) {
  const Stream stream(device);
  const Buffer data(stream, count * 4), copied(stream, count * 4);
  const anyplace::Module module = anyplace::Module::from_file(device, image);
  const anyplace::KernelView fill = module.kernel("fill");
  const Event reached(device);
  const bool calls = device.has(Capability::host_functions);
  const auto called = std::make_shared<std::atomic<int>>(0);
  Numbers& back = host_numbers();
  const auto built = [&](std::uint32_t value) {
    anyplace::Graph graph(device);
    const anyplace::GraphNode first = graph.add_memset32({}, data, 0);
    const anyplace::GraphNode filled = graph.add_kernel(first, fill, {count / 64, 64}, data, count, value);
    anyplace::GraphNode last = graph.add_copy(filled, copied, data);
    if (calls) last = graph.add_host_function(last, [called] { ++*called; });
    graph.add_event_record(last, reached);
    return graph;
  };
  const anyplace::GraphExec exec = built(4).instantiate();
  exec.launch(stream);
  exec.update(built(5));
  exec.launch(stream);
  stream.copy(back, copied);
  stream.synchronize();
  expect_all(back, 5, "an updated graph's work");
  expect(!calls || *called == 2, "a graph's host function");
  expect(reached.query(), "an event that a graph recorded");
}

/// What another process would open, which is refused in this one.
void sharing(const Device& device) {
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

}  // namespace

void run_vendor_steps(const std::string& place, const std::string& image) {
  const Device device(place);
  graphs(device, image);
  sharing(device);
}

}  // namespace sweep
