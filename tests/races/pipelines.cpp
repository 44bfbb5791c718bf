// SPDX-License-Identifier: Apache-2.0
//
// Pipelines as programs have them: several producers and consumers, rounds over the same buffers, query loops, streams
// and events that are replaced, and what is submitted by default.
#include <array>
#include <thread>
#include <utility>

#include "program.h"

namespace races {
namespace pipelines {
namespace {

using namespace anyplace;

constexpr Program programs[] = {
    {"One of three producers isn't waited for",
     {"race", "fill@c", "copy_to_host@d"},
     [](Bed& bed, bool right) {
       const Stream d(bed.device);
       bed.name("d", d);
       constexpr std::uint64_t part = 1024;
       bed.fill(bed.a, bed.x.sub(0, part));
       bed.fill(bed.b, bed.x.sub(part, part));
       bed.fill(bed.c, bed.x.sub(2 * part, part));
       d.wait_stream(bed.a);
       d.wait_stream(bed.b);
       if (right) d.wait_stream(bed.c);
       d.copy(HostSpan(bed.pinned.data(), 3 * part), bed.x.sub(0, 3 * part));
     }},
    {"The first of four streams doesn't wait for the last before the next round",
     {"race", "copy_to_host@d", "fill@a"},
     [](Bed& bed, bool right) {
       const Stream d(bed.device);
       bed.name("d", d);
       bed.fill(bed.a, bed.x);
       bed.b.wait_stream(bed.a);
       bed.c.wait_stream(bed.b);
       d.wait_stream(bed.c);
       d.copy(bed.pinned, bed.x);
       if (right) bed.a.wait_stream(d);
       bed.fill(bed.a, bed.x);
     }},
    {"A buffer is refilled behind the reader of the other one",
     {"race", "copy_to_host@b", "fill@a"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       bed.fill(bed.a, bed.y);
       bed.b.wait_stream(bed.a);
       bed.c.wait_stream(bed.a);
       bed.b.copy(HostSpan(bed.pinned.data(), half), bed.x.sub(0, half));
       bed.c.copy(HostSpan(bed.pinned.data() + half, half), bed.y.sub(0, half));
       bed.event.record(bed.b);
       bed.other_event.record(bed.c);
       bed.a.wait_event(right ? bed.event : bed.other_event);
       bed.fill(bed.a, bed.x);
     }},
    {"A query loop asks about the first of two copies",
     {"race", "copy_to_host@a", "host read"},
     [](Bed& bed, bool right) {
       bed.a.copy(HostSpan(bed.pinned.data(), half), bed.x.sub(0, half));
       bed.event.record(bed.a);
       bed.a.copy(HostSpan(bed.pinned.data() + half, half), bed.x.sub(half));
       bed.other_event.record(bed.a);
       while (!(right ? bed.other_event : bed.event).query()) std::this_thread::yield();
       host_read(bed.pinned.data(), bytes);
     }},
    {"A join takes one of two branches, which don't wait for each other",
     {"race", "fill@b", "copy_to_host@a"},
     [](Bed& bed, bool right) {
       bed.b.wait_stream(bed.a);
       bed.c.wait_stream(bed.a);
       bed.fill(bed.b, bed.x.sub(0, half));
       bed.fill(bed.c, bed.x.sub(half));
       if (right) bed.c.wait_stream(bed.b);
       bed.a.wait_stream(bed.c);
       bed.a.copy(bed.pinned, bed.x);
     }},
    {"A blocking stream passes on the null stream's order, and another doesn't",
     {"race", "fill@null", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const Stream d(bed.device, {.blocking = true});
       bed.fill(bed.device.default_stream(), bed.x);
       bed.b.wait_event(right ? d.record_event() : bed.c.record_event());
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"The second of two rounds isn't waited for",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       for (int round = 0; round < 2; ++round) {
         bed.fill(bed.a, bed.x);
         if (right || round == 0) bed.a.synchronize();
         bed.b.copy(bed.pinned, bed.x);
         bed.b.synchronize();
       }
     }},
    {"The host waits for the last of three streams that fill its memory",
     {"race", "copy_to_host@a", "host read"},
     [](Bed& bed, bool right) {
       std::uint64_t at = 0;
       for (const Stream* const stream : {&bed.a, &bed.b, &bed.c}) {
         stream->copy(HostSpan(bed.pinned.data() + at, 1024), bed.x.sub(at, 1024));
         at += 1024;
       }
       bed.c.synchronize();
       if (right) bed.device.synchronize();
       host_read(bed.pinned.data(), 1024);
     }},
    {"An event is waited for before the second stream records it",
     {"race", "fill@b", "copy_to_host@c"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       bed.event.record(bed.a);
       bed.b.wait_event(bed.event);
       bed.fill(bed.b, bed.x);
       if (!right) bed.c.wait_event(bed.event);
       bed.event.record(bed.b);
       if (right) bed.c.wait_event(bed.event);
       bed.c.copy(bed.pinned, bed.x);
     }},
    {"A stream that took another's place isn't behind its work",
     {"race", "fill@d", "copy_to_host@e"},
     [](Bed& bed, bool right) {
       Stream d(bed.device);
       bed.name("d", d);
       bed.fill(d, bed.x);
       bed.event.record(d);
       d = Stream(bed.device);
       bed.name("e", d);
       if (right) d.wait_event(bed.event);
       d.copy(bed.pinned, bed.x);
     }},
    {"The current stream is the null stream again behind its guard",
     {"race", "fill@a", "copy_to_host@d"},
     [](Bed& bed, bool right) {
       StreamView d;
       {
         const StreamGuard guard(bed.a);
         bed.fill(current_stream(bed.device), bed.x);
         d = current_stream(bed.device);
       }
       if (!right) d = current_stream(bed.device);
       bed.name("d", d);
       d.copy(bed.pinned, bed.x);
     }},
    {"Two streams work in turn, and the first doesn't wait for its turn",
     {"race", "kernel add@b", "kernel add@a"},
     [](Bed& bed, bool right) {
       const Buffer* to = &bed.y;
       const Buffer* from = &bed.x;
       for (int round = 0; round < 3; ++round) {
         const Stream& stream = round % 2 == 0 ? bed.a : bed.b;
         if (right || round == 1) stream.wait_stream(round % 2 == 0 ? bed.b : bed.a);
         bed.launch_add(stream, inout(*to), in(*from));
         std::swap(to, from);
       }
     }},
    {"Sums of two halves are added before the second one is there",
     {"race", "kernel add@c", "kernel add@a"},
     [](Bed& bed, bool right) {
       const BufferView low = bed.x.sub(0, half), high = bed.x.sub(half);
       bed.launch_add(bed.b, inout(low), in(bed.y));
       bed.launch_add(bed.c, inout(high), in(bed.y));
       bed.a.wait_stream(bed.b);
       if (right) bed.a.wait_stream(bed.c);
       bed.launch_add(bed.a, inout(low), in(high));
     }},
    {"Threads have a stream each, and the reader waits for one thread's",
     {"race", "fill@d", "copy_to_host@a"},
     [](Bed& bed, bool right) {
       const std::array<Stream, 2> streams{Stream(bed.device), Stream(bed.device)};
       bed.name("d", streams[1]);
       for (std::size_t i = 0; i < 2; ++i) std::thread([&] { bed.fill(streams[i], bed.x.sub(i * half, half)); }).join();
       bed.a.wait_stream(streams[0]);
       if (right) bed.a.wait_stream(streams[1]);
       bed.a.copy(bed.pinned, bed.x);
     }},
    {"What is queued behind a wait is waited for by its event, not by the wait's",
     {"race", "copy@b", "copy_to_host@c"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       bed.event.record(bed.a);
       bed.b.wait_event(bed.event);
       bed.b.copy(bed.y, bed.x);
       bed.other_event.record(bed.b);
       bed.c.wait_event(right ? bed.other_event : bed.event);
       bed.c.copy(bed.pinned, bed.y);
     }},
    {"The device was synchronised on another thread, before this one's work",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const auto wait = [&] { std::thread([&] { bed.device.synchronize(); }).join(); };
       if (!right) wait();
       bed.fill(bed.a, bed.x);
       if (right) wait();
       bed.b.copy(bed.pinned, bed.x);
     }},
};

}  // namespace
}  // namespace pipelines

std::span<const Program> pipeline_programs() { return pipelines::programs; }

}  // namespace races
