// SPDX-License-Identifier: Apache-2.0
//
// Streams that are taken to be ordered: with the null stream, with each other, by their joins, over devices and graphs.
#include "program.h"

namespace schedules {
namespace streams {
namespace {

using namespace anyplace;

constexpr Program programs[] = {
    {"default_stream", "a stream that isn't blocking is taken to wait for the null stream", 1,
     [](Bed& bed, bool right) {
       const Stream own(bed.device, {.blocking = right});
       bed.set(bed.device.default_stream(), bed.x, 2);
       return bed.get(own, bed.x) == 2;
     }},
    {"null_stream_reads", "the null stream is taken to wait for a stream that isn't blocking", 1,
     [](Bed& bed, bool right) {
       const Stream own(bed.device, {.blocking = right});
       bed.set(own, bed.x, 2);
       return bed.get(bed.device.default_stream(), bed.x) == 2;
     }},
    {"two_blocking_streams", "two blocking streams are taken to wait for each other", 1,
     [](Bed& bed, bool right) {
       const Stream one(bed.device, {.blocking = true}), two(bed.device, {.blocking = true});
       bed.set(one, bed.x, 2);
       if (right) bed.set(bed.device.default_stream(), bed.y, 2);
       return bed.get(two, bed.x) == 2;
     }},
    {"submission_order", "of two streams the one that is submitted to last is taken to write last", 1,
     [](Bed& bed, bool right) {
       bed.set(bed.a, bed.x, 2);
       if (right) bed.b.wait_stream(bed.a);
       bed.set(bed.b, bed.x, 3);
       bed.a.synchronize();
       bed.b.synchronize();
       return bed.get(bed.a, bed.x) == 3;
     }},
    {"join_of_one", "three streams fork, and the join waits for one of two", 1,
     [](Bed& bed, bool right) {
       bed.b.wait_event(bed.a.record_event());
       bed.set(bed.a, bed.x, 2);
       bed.set(bed.b, bed.y, 2);
       bed.c.wait_event(bed.a.record_event());
       if (right) bed.c.wait_event(bed.b.record_event());
       bed.c.copy(bed.z, bed.y);
       return bed.get(bed.c, bed.z) == 2;
     }},
    {"chain_with_a_gap", "of three streams in a chain the second doesn't wait for the first", 1,
     [](Bed& bed, bool right) {
       bed.set(bed.a, bed.x, 2);
       if (right) bed.b.wait_event(bed.a.record_event());
       bed.b.copy(bed.y, bed.x);
       bed.c.wait_event(bed.b.record_event());
       return bed.get(bed.c, bed.y) == 2;
     }},
    {"halves", "two streams write the halves of a buffer, and its reader waits for one", 1,
     [](Bed& bed, bool right) {
       bed.set(bed.a, bed.x.sub(0, 32), 2);
       bed.set(bed.b, bed.x.sub(32, 32), 2);
       if (right) bed.a.wait_stream(bed.b);
       bed.a.copy(bed.y, bed.x);
       return bed.get(bed.a, bed.y.sub(32, 32)) == 2;
     }},
    {"stream_is_gone", "the end of a stream is taken for the end of its work", 1,
     [](Bed& bed, bool right) {
       {
         const Stream own(bed.device);
         bed.set(own, bed.x, 2);
         if (right) own.synchronize();
       }
       return bed.get(bed.b, bed.x) == 2;
     }},
    {"two_devices", "a device copies from another one without a wait for that one's stream", 1,
     [](Bed& bed, bool right) {
       const Stream there(bed.other_device);
       const Buffer copy(there, 64);
       bed.set(bed.a, bed.x, 2);
       if (right) there.wait_event(bed.a.record_event());
       there.copy(copy, bed.x);
       return bed.get(there, copy) == 2;
     }},
    {"other_device_synchronized", "the host waits for the other device", 1,
     [](Bed& bed, bool right) {
       bed.set(bed.a, bed.x, 2);
       bed.a.copy(bed.pinned, bed.x);
       (right ? bed.device : bed.other_device).synchronize();
       const bool is_right = bed.in(bed.pinned) == 2;
       bed.a.synchronize();
       return is_right;
     }},
    {"graph_launch", "a stream doesn't wait for the launch of a graph whose result it reads", 1,
     [](Bed& bed, bool right) {
       Graph graph(bed.device);
       graph.add_memset32({}, bed.x, 2);
       const GraphExec exec = graph.instantiate();
       exec.launch(bed.a);
       if (right) bed.b.wait_stream(bed.a);
       return bed.get(bed.b, bed.x) == 2;
     }},
    {"nodes_without_order", "two nodes of a graph are taken to run in the order in which they were added", 1,
     [](Bed& bed, bool right) {
       Graph graph(bed.device);
       const GraphNode first = graph.add_memset32({}, bed.x, 2);
       const GraphNode second = graph.add_memset32({}, bed.x, 3);
       if (right) graph.add_dependency(first, second);
       const GraphExec exec = graph.instantiate();
       exec.launch(bed.a);
       return bed.get(bed.a, bed.x) == 3;
     }},
    {"between_two_nodes", "a stream reads what a node of a graph writes for the next one", 2,
     [](Bed& bed, bool right) {
       Graph graph(bed.device);
       const GraphNode first = graph.add_memset32({}, bed.x, 7);
       graph.add_memset32({first}, bed.x, 2);
       const GraphExec exec = graph.instantiate();
       exec.launch(bed.a);
       if (right) bed.b.wait_stream(bed.a);
       const bool is_right = bed.get(bed.b, bed.x) != 7;
       bed.a.synchronize();
       return is_right;
     }},
};

}  // namespace
}  // namespace streams

std::span<const Program> stream_programs() { return streams::programs; }

}  // namespace schedules
