// SPDX-License-Identifier: Apache-2.0
//
// Copies that the host doesn't wait for, and memory that is used again too early.
#include "program.h"

namespace schedules {
namespace copies {
namespace {

using namespace anyplace;

constexpr Program programs[] = {
    {"host_reads", "the host reads the destination of a copy without waiting", 1,
     [](Bed& bed, bool right) {
       bed.set(bed.a, bed.x, 2);
       bed.a.copy(bed.pinned, bed.x);
       if (right) bed.a.synchronize();
       const bool is_right = bed.in(bed.pinned) == 2;
       bed.a.synchronize();
       return is_right;
     }},
    {"other_stream_synchronized", "the host waits for another stream than the one that copies", 1,
     [](Bed& bed, bool right) {
       bed.set(bed.a, bed.x, 2);
       bed.a.copy(bed.pinned, bed.x);
       bed.set(bed.b, bed.y, 2);
       (right ? bed.a : bed.b).synchronize();
       const bool is_right = bed.in(bed.pinned) == 2;
       bed.a.synchronize();
       return is_right;
     }},
    {"source_overwritten", "the host writes to the source of a copy that may not have begun", 1,
     [](Bed& bed, bool right) {
       bed.in(bed.pinned) = 2;
       bed.a.copy(bed.x, bed.pinned);
       if (right) bed.a.synchronize();
       bed.in(bed.pinned) = 3;
       return bed.get(bed.a, bed.x) == 2;
     }},
    {"double_buffer", "of two buffers in turns the wrong one's event is waited for", 1,
     [](Bed& bed, bool right) {
       const HostBuffer* const slots[] = {&bed.pinned, &bed.other_pinned};
       const EventView events[] = {bed.event, bed.other_event};
       const Buffer* const to[] = {&bed.x, &bed.y, &bed.z};
       for (int i = 0; i < 3; ++i) {
         if (i >= 2) events[right ? i % 2 : (i + 1) % 2].synchronize();
         bed.in(*slots[i % 2]) = static_cast<std::uint32_t>(10 + i);
         const Stream& stream = i % 2 == 0 ? bed.a : bed.b;
         stream.copy(*to[i], *slots[i % 2]);
         events[i % 2].record(stream);
       }
       return bed.get(bed.a, bed.x) == 10;
     }},
    {"write_after_read", "a stream writes again what another one may not have read yet", 1,
     [](Bed& bed, bool right) {
       bed.set(bed.a, bed.x, 2);
       bed.b.wait_event(bed.a.record_event());
       bed.b.copy(bed.y, bed.x);
       if (right) bed.a.wait_event(bed.b.record_event());
       bed.set(bed.a, bed.x, 3);
       return bed.get(bed.b, bed.y) == 2;
     }},
    {"ping_pong", "of two buffers that change roles one is written while the step before reads it", 1,
     [](Bed& bed, bool right) {
       bed.set(bed.a, bed.x, 2);
       bed.b.wait_event(bed.a.record_event());
       bed.b.copy(bed.y, bed.x);  // step 1 reads x and writes y
       if (right) bed.a.wait_event(bed.b.record_event());
       bed.a.copy(bed.x, bed.z);  // step 2 reads z and writes x
       return bed.get(bed.b, bed.y) == 2;
     }},
    {"upload_and_kernel", "a kernel doesn't wait for the upload of its input", 1,
     [](Bed& bed, bool right) {
       bed.in(bed.pinned) = 5;
       bed.a.copy(bed.x, bed.pinned);
       if (right) bed.b.wait_stream(bed.a);
       bed.increment(bed.b, bed.x);
       bed.b.synchronize();
       return bed.get(bed.a, bed.x) == 6;
     }},
    {"download_and_kernel", "a download doesn't wait for the kernel", 1,
     [](Bed& bed, bool right) {
       bed.increment(bed.a, bed.x);
       if (right) bed.b.wait_stream(bed.a);
       return bed.get(bed.b, bed.x) == 2;
     }},
    {"graph_source", "the host writes to the source of a graph's copy before the launch is done", 1,
     [](Bed& bed, bool right) {
       Graph graph(bed.device);
       graph.add_copy({}, bed.x, ConstHostSpan(bed.pinned));
       const GraphExec exec = graph.instantiate();
       bed.in(bed.pinned) = 2;
       exec.launch(bed.a);
       bed.a.copy(bed.y, bed.x);
       if (right) bed.a.synchronize();
       bed.in(bed.pinned) = 3;
       return bed.get(bed.a, bed.y) == 2;
     }},
};

}  // namespace
}  // namespace copies

std::span<const Program> copy_programs() { return copies::programs; }

}  // namespace schedules
