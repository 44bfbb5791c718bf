// SPDX-License-Identifier: Apache-2.0
//
// Graphs: the order of their nodes, and that of their launches with other work.
#include "program.h"

namespace races {
namespace graphs {
namespace {

using namespace anyplace;

/// What `submit` submits to the stream, as a graph.
template <class Submit>
Graph captured(const Stream& stream, const Submit& submit) {
  stream.begin_capture();
  submit();
  return stream.end_capture();
}

constexpr Program programs[] = {
    {"A stream doesn't wait for the launch whose result it reads",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const GraphExec exec = captured(bed.a, [&] { bed.fill(bed.a, bed.x); }).instantiate();
       exec.launch(bed.a);
       if (right) bed.b.wait_stream(bed.a);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"A launch doesn't wait for what its nodes read",
     {"race", "fill@b", "copy_to_host@a"},
     [](Bed& bed, bool right) {
       const GraphExec exec = captured(bed.a, [&] { bed.a.copy(bed.pinned, bed.x); }).instantiate();
       bed.fill(bed.b, bed.x);
       if (right) bed.a.wait_stream(bed.b);
       exec.launch(bed.a);
     }},
    {"A capture isn't a submission, a launch is",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const GraphExec exec = captured(bed.a, [&] { bed.fill(bed.a, bed.x); }).instantiate();
       if (!right) exec.launch(bed.a);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"Two graphs are launched in two streams",
     {"race", "fill@a", "fill@b"},
     [](Bed& bed, bool right) {
       const GraphExec one = captured(bed.a, [&] { bed.fill(bed.a, bed.x); }).instantiate();
       const GraphExec other = captured(bed.a, [&] { bed.fill(bed.a, bed.x); }).instantiate();
       one.launch(bed.a);
       if (right) bed.b.wait_event(bed.a.record_event());
       other.launch(bed.b);
     }},
    {"Two executables of one graph are launched in two streams",
     {"race", "fill@a", "fill@b"},
     [](Bed& bed, bool right) {
       const Graph graph = captured(bed.a, [&] { bed.fill(bed.a, bed.x); });
       const GraphExec one = graph.instantiate(), other = graph.instantiate();
       one.launch(bed.a);
       (right ? one : other).launch(bed.b);  // launches of one executable wait for each other
     }},
    {"What comes behind a launch in its stream isn't what another launch waits for",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const GraphExec exec = captured(bed.a, [&] { bed.a.copy(bed.pinned, bed.x); }).instantiate();
       exec.launch(bed.a);
       bed.fill(bed.a, bed.x);
       if (right) bed.b.wait_stream(bed.a);
       exec.launch(bed.b);
     }},
    {"A captured stream joins before the work that it is to wait for",
     {"race", "fill", "copy_to_host"},
     [](Bed& bed, bool right) {
       const Graph graph = captured(bed.a, [&] {
         if (!right) bed.b.wait_stream(bed.a);
         bed.fill(bed.a, bed.x);
         if (right) bed.b.wait_stream(bed.a);
         bed.b.copy(bed.pinned, bed.x);
         bed.a.wait_stream(bed.b);
       });
       const GraphExec exec = graph.instantiate();
       exec.launch(bed.a);
       exec.launch(bed.a);
     }},
    {"A node that was added lacks a dependency",
     {"race", "fill", "copy_to_host"},
     [](Bed& bed, bool right) {
       Graph graph(bed.device);
       const GraphNode fill = graph.add_memset32({}, bed.x, 1);
       graph.add_copy(right ? After(fill) : After(), HostSpan(bed.pinned.data(), bytes), bed.x);
       const GraphExec exec = graph.instantiate();
       exec.launch(bed.a);
     }},
    {"Two kernels of a graph write one buffer",
     {"race", "kernel add", "kernel add"},
     [](Bed& bed, bool right) {
       Graph graph(bed.device);
       const LaunchConfig config{1, 64};
       const auto first = graph.add_kernel({}, bed.add, config, out(bed.y), in(bed.x), std::uint32_t{64});
       graph.add_kernel(right ? After(first) : After(), bed.add, config, out(bed.y), in(bed.x), std::uint32_t{64});
       const GraphExec exec = graph.instantiate();
       exec.launch(bed.a);
     }},
    {"A dependency is added after the graph was instantiated",
     {"race", "fill", "copy_to_host"},
     [](Bed& bed, bool right) {
       Graph graph(bed.device);
       const GraphNode fill = graph.add_memset32({}, bed.x, 1);
       const GraphNode copy = graph.add_copy({}, HostSpan(bed.pinned.data(), bytes), bed.x);
       if (right) graph.add_dependency(fill, copy);
       const GraphExec exec = graph.instantiate();
       if (!right) graph.add_dependency(fill, copy);
       exec.launch(bed.a);
     }},
    {"An update that isn't made leaves the old work",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const GraphExec exec = captured(bed.a, [&] { bed.fill(bed.a, bed.x); }).instantiate();
       const Graph other = captured(bed.a, [&] { bed.fill(bed.a, bed.y); });
       if (right) exec.update(other);
       exec.launch(bed.a);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"An update changes what later launches write",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const GraphExec exec = captured(bed.a, [&] { bed.fill(bed.a, bed.x); }).instantiate();
       const Graph other = captured(bed.a, [&] { bed.fill(bed.a, bed.y); });
       if (right) exec.launch(bed.a);
       if (right) bed.b.wait_stream(bed.a);
       exec.update(other);
       exec.launch(bed.a);
       bed.b.copy(bed.pinned, right ? bed.x : bed.y);
     }},
    {"An event that a graph records is waited for before the launch",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const GraphExec exec = captured(bed.a, [&] {
                                bed.fill(bed.a, bed.x);
                                bed.a.record_external_event(bed.event);
                              }).instantiate();
       if (!right) bed.b.wait_event(bed.event);
       exec.launch(bed.a);
       if (right) bed.b.wait_event(bed.event);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"An event that a graph waits for is recorded after the launch",
     {"race", "fill@b", "copy_to_host@a"},
     [](Bed& bed, bool right) {
       const GraphExec exec = captured(bed.a, [&] {
                                bed.a.wait_external_event(bed.event);
                                bed.a.copy(bed.pinned, bed.x);
                              }).instantiate();
       bed.fill(bed.b, bed.x);
       if (right) bed.event.record(bed.b);
       exec.launch(bed.a);
       if (!right) bed.event.record(bed.b);
     }},
    {"The host refills the input of a launch that is pending",
     {"race", "copy_to_device@a", "host write"},
     [](Bed& bed, bool right) {
       const GraphExec exec = captured(bed.a, [&] { bed.a.copy(bed.x, bed.pinned); }).instantiate();
       for (int i = 0; i < 2; ++i) {
         host_write(bed.pinned.data(), bytes);
         exec.launch(bed.a);
         if (right) bed.a.synchronize();
       }
     }},
    {"The host reads the output of a launch that is pending",
     {"race", "copy_to_host@a", "host read"},
     [](Bed& bed, bool right) {
       const GraphExec exec = captured(bed.a, [&] { bed.a.copy(bed.pinned, bed.x); }).instantiate();
       exec.launch(bed.a);
       if (right) bed.a.synchronize();
       host_read(bed.pinned.data(), bytes);
     }},
    {"A child graph isn't waited for",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const Graph child = captured(bed.a, [&] { bed.fill(bed.a, bed.x); });
       Graph graph(bed.device);
       graph.add_child_graph({}, child);
       const GraphExec exec = graph.instantiate();
       exec.launch(bed.a);
       if (right) bed.b.wait_stream(bed.a);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"A graph keeps its buffers, and orders nobody else's use of them",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       GraphExec exec;
       Buffer z(bed.a, bytes);
       exec = captured(bed.a, [&] { bed.fill(bed.a, z); }).instantiate();
       if (!right) exec.launch(bed.a);
       if (!right) bed.b.copy(bed.pinned, z);
       bed.device.synchronize();
       z = Buffer();
       exec.launch(bed.a);
     }},
    {"A graph that is launched on a captured stream is a part of that stream's graph",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const GraphExec inner = captured(bed.b, [&] { bed.fill(bed.b, bed.x); }).instantiate();
       const GraphExec outer = captured(bed.a, [&] { inner.launch(bed.a); }).instantiate();
       outer.launch(bed.a);
       if (right) bed.b.wait_stream(bed.a);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"A graph is launched after the owner of its pinned memory let go of that",
     {"freed-under-graph", "free", "copy_to_device@a"},
     [](Bed& bed, bool right) {
       HostBuffer host(bed.device, bytes);
       const GraphExec exec = captured(bed.a, [&] { bed.a.copy(bed.x, host); }).instantiate();
       if (right) exec.launch(bed.a);
       host = HostBuffer();
       if (!right) exec.launch(bed.a);
     }},
};

}  // namespace
}  // namespace graphs

std::span<const Program> graph_programs() { return graphs::programs; }

}  // namespace races
