// SPDX-License-Identifier: Apache-2.0
//
// Graphs that are more than a row of nodes: host functions with what they declare, updates, launches in turn, and
// events that several launches record.
#include "program.h"

namespace races {
namespace graph_functions {
namespace {

using namespace anyplace;

template <class Submit>
Graph captured(const Stream& stream, const Submit& submit) {
  stream.begin_capture();
  submit();
  return stream.end_capture();
}

/// Launches the graph. Where the library launches such a graph node by node, its nodes are work of streams of its own.
void launch(const Bed& bed, const GraphExec& exec) {
  if (!exec.is_native()) bed.leave_out("the device launches no graph of host functions");
  exec.launch(bed.a);
}

constexpr Program programs[] = {
    {"A host function of a graph reads what a node beside it writes",
     {"race", "copy_to_host", "host read@a"},
     [](Bed& bed, bool right) {
       const GraphExec exec = captured(bed.a, [&] {
                                if (!right) bed.b.wait_stream(bed.a);
                                bed.a.copy(bed.pinned, bed.x);
                                if (right) bed.b.wait_stream(bed.a);
                                bed.b.launch_host_func([data = bed.pinned.data()] { host_read(data, bytes); });
                                bed.a.wait_stream(bed.b);
                              }).instantiate();
       launch(bed, exec);
       launch(bed, exec);
     }},
    {"A host function of a graph writes what a later node copies, which doesn't come after it",
     {"race", "host write@a", "copy_to_device"},
     [](Bed& bed, bool right) {
       Graph graph(bed.device);
       const GraphNode call = graph.add_host_function({}, [data = bed.pinned.data()] { host_write(data, bytes); });
       graph.add_copy(right ? After(call) : After(), bed.x, bed.pinned);
       const GraphExec exec = graph.instantiate();
       launch(bed, exec);
     }},
    {"Two host functions of a graph write one place",
     {"race", "host write@a", "host write@a"},
     [](Bed& bed, bool right) {
       Graph graph(bed.device);
       const auto write = [data = bed.pinned.data()] { host_write(data, 64); };
       const GraphNode first = graph.add_host_function({}, write);
       graph.add_host_function(right ? After(first) : After(), write);
       const GraphExec exec = graph.instantiate();
       launch(bed, exec);
     }},
    {"Host functions of a graph are ordered by a path, and not by being its ends",
     {"race", "host write@a", "host read@a"},
     [](Bed& bed, bool right) {
       Graph graph(bed.device);
       const GraphNode write = graph.add_host_function({}, [data = bed.pinned.data()] { host_write(data, 64); });
       const GraphNode between = graph.add_memset32(right ? After(write) : After(), bed.x, 1);
       graph.add_host_function(between, [data = bed.pinned.data()] { host_read(data, 64); });
       const GraphExec exec = graph.instantiate();
       launch(bed, exec);
     }},
    {"Another stream copies what a graph's host function writes",
     {"race", "host write@a", "copy_to_device@b"},
     [](Bed& bed, bool right) {
       const GraphExec exec = captured(bed.a, [&] {
                                bed.a.launch_host_func([data = bed.pinned.data()] { host_write(data, bytes); });
                              }).instantiate();
       bed.gate.block(bed.a);
       exec.launch(bed.a);
       if (right) bed.b.wait_stream(bed.a);
       bed.b.copy(bed.y, bed.pinned);
       bed.gate.open();
     }},
    {"The host writes what a graph's host function reads",
     {"race", "host read@a", "host write"},
     [](Bed& bed, bool right) {
       const GraphExec exec = captured(bed.a, [&] {
                                bed.a.launch_host_func([data = bed.pinned.data()] { host_read(data, bytes); });
                              }).instantiate();
       bed.gate.block(bed.a);
       exec.launch(bed.a);
       if (right) bed.gate.open();
       if (right) bed.a.synchronize();
       host_write(bed.pinned.data(), bytes);
       bed.gate.open();
     }},
    {"An update's host function works on other memory than the one before",
     {"race", "host write@a", "copy_to_device@b"},
     [](Bed& bed, bool right) {
       const auto graph = [&](std::uint64_t at) {
         return captured(bed.a,
                         [&] { bed.a.launch_host_func([data = bed.pinned.data() + at] { host_write(data, half); }); });
       };
       const GraphExec exec = graph(0).instantiate();
       bed.gate.block(bed.a);
       exec.launch(bed.a);
       if (!right) exec.update(graph(half));
       exec.launch(bed.a);
       bed.b.copy(bed.y.sub(0, half), ConstHostSpan(bed.pinned.data() + half, half));
       bed.gate.open();
     }},
    {"An update makes a graph's fill larger",
     {"race", "fill@a", "fill@b"},
     [](Bed& bed, bool right) {
       const GraphExec exec = captured(bed.a, [&] { bed.fill(bed.a, bed.x.sub(0, half)); }).instantiate();
       exec.launch(bed.a);
       if (!right) exec.update(captured(bed.a, [&] { bed.fill(bed.a, bed.x); }));
       exec.launch(bed.a);
       bed.fill(bed.b, bed.x.sub(half));
     }},
    {"An update leaves the launch before as it was",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const GraphExec exec = captured(bed.a, [&] { bed.fill(bed.a, bed.x); }).instantiate();
       if (!right) exec.launch(bed.a);
       exec.update(captured(bed.a, [&] { bed.fill(bed.a, bed.y); }));
       exec.launch(bed.a);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"A graph is launched on a second stream, and the reader waits for the first",
     {"race", "fill@b", "copy_to_host@c"},
     [](Bed& bed, bool right) {
       const GraphExec exec = captured(bed.a, [&] { bed.fill(bed.a, bed.x); }).instantiate();
       exec.launch(bed.a);
       bed.event.record(bed.a);
       exec.launch(bed.b);
       bed.other_event.record(bed.b);
       bed.c.wait_event(right ? bed.other_event : bed.event);
       bed.c.copy(bed.pinned, bed.x);
     }},
    {"A second launch records the event after it was waited for",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const GraphExec exec = captured(bed.a, [&] {
                                bed.fill(bed.a, bed.x);
                                bed.a.record_external_event(bed.event);
                              }).instantiate();
       exec.launch(bed.a);
       if (!right) bed.b.wait_event(bed.event);
       exec.launch(bed.a);
       if (right) bed.b.wait_event(bed.event);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"Kernels of two branches of a graph share a buffer that one writes",
     {"race", "kernel add", "kernel add"},
     [](Bed& bed, bool right) {
       const Buffer z(bed.a, bytes);
       bed.device.synchronize();
       const GraphExec exec =
           captured(bed.a, [&] {
             bed.b.wait_stream(bed.a);
             bed.launch_add(bed.a, inout(bed.x), in(bed.y));
             right ? bed.launch_add(bed.b, inout(z), in(bed.y)) : bed.launch_add(bed.b, inout(z), in(bed.x));
             bed.a.wait_stream(bed.b);
           }).instantiate();
       exec.launch(bed.a);
       bed.device.synchronize();
     }},
    {"The host reads what a graph's host function is yet to write",
     {"race", "host write@a", "host read"},
     [](Bed& bed, bool right) {
       Graph graph(bed.device);
       graph.add_host_function({}, [data = bed.pinned.data()] { host_write(data, bytes); });
       const GraphExec exec = graph.instantiate();
       launch(bed, exec);
       if (right) bed.a.synchronize();
       host_read(bed.pinned.data(), bytes);
       bed.a.synchronize();
     }},
};

}  // namespace
}  // namespace graph_functions

std::span<const Program> graph_function_programs() { return graph_functions::programs; }

}  // namespace races
