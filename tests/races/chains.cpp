// SPDX-License-Identifier: Apache-2.0
//
// Three streams and more, and slots that are used in turn: order that is passed on, and order that isn't.
#include <array>

#include "program.h"

namespace races {
namespace chains {
namespace {

using namespace anyplace;

constexpr Program programs[] = {
    {"The stream in the middle of a chain doesn't wait",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       bed.event.record(bed.a);
       if (right) bed.c.wait_event(bed.event);
       bed.other_event.record(bed.c);
       bed.b.wait_event(bed.other_event);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"The stream in the middle of a chain waits after its record",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       bed.event.record(bed.a);
       if (right) bed.c.wait_event(bed.event);
       bed.other_event.record(bed.c);
       if (!right) bed.c.wait_event(bed.event);
       bed.b.wait_event(bed.other_event);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"Two that wait for one stream aren't ordered with each other",
     {"race", "fill@b", "fill@c"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       bed.event.record(bed.a);
       bed.b.wait_event(bed.event);
       bed.c.wait_event(bed.event);
       bed.fill(bed.b, bed.x.sub(0, half));
       if (right) bed.c.wait_stream(bed.b);
       bed.fill(bed.c, bed.x.sub(0, half));
     }},
    {"One branch of a diamond isn't waited for",
     {"race", "fill@c", "copy_to_host@a"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       bed.event.record(bed.a);
       bed.b.wait_event(bed.event);
       bed.c.wait_event(bed.event);
       bed.fill(bed.b, bed.x.sub(0, half));
       bed.fill(bed.c, bed.x.sub(half));
       bed.a.wait_stream(bed.b);
       if (right) bed.a.wait_stream(bed.c);
       bed.a.copy(bed.pinned, bed.x);
     }},
    {"A chain of four streams lacks its last link",
     {"race", "fill@a", "copy_to_host@d"},
     [](Bed& bed, bool right) {
       const Stream d(bed.device);
       bed.name("d", d);
       bed.fill(bed.a, bed.x);
       bed.b.wait_stream(bed.a);
       bed.c.wait_stream(bed.b);
       if (right) d.wait_stream(bed.c);
       d.copy(bed.pinned, bed.x);
     }},
    {"The second of two writers is the one that isn't waited for",
     {"race", "fill@b", "copy_to_host@c"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       bed.b.wait_stream(bed.a);
       bed.fill(bed.b, bed.x);
       bed.c.wait_stream(right ? bed.b : bed.a);
       bed.c.copy(bed.pinned, bed.x);
     }},
    {"A producer doesn't wait until its slot was consumed",
     {"race", "copy_to_host@b", "fill@a"},
     [](Bed& bed, bool right) {
       const std::array<const Buffer*, 2> slots{&bed.x, &bed.y};
       const std::array<Event, 2> produced{Event(bed.device), Event(bed.device)};
       const std::array<Event, 2> consumed{Event(bed.device), Event(bed.device)};
       for (std::size_t i = 0; i < 3; ++i) {
         const std::size_t slot = i % 2;
         if (right) bed.a.wait_event(consumed[slot]);
         bed.fill(bed.a, *slots[slot]);
         produced[slot].record(bed.a);
         bed.b.wait_event(produced[slot]);
         bed.b.copy(bed.pinned, *slots[slot]);
         consumed[slot].record(bed.b);
       }
     }},
    {"A consumer waits for the other slot's event",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const std::array<Event, 2> produced{Event(bed.device), Event(bed.device)};
       bed.fill(bed.a, bed.x);
       produced[0].record(bed.a);
       bed.fill(bed.a, bed.y);
       produced[1].record(bed.a);
       bed.b.wait_event(produced[0]);
       bed.b.copy(bed.pinned, bed.x);
       if (right) bed.b.wait_event(produced[1]);
       bed.b.copy(bed.pinned, bed.y);
     }},
    {"The host waits for a slot's event one round too early",
     {"race", "copy_to_host@a", "host read"},
     [](Bed& bed, bool right) {
       const std::array<Event, 2> done{Event(bed.device), Event(bed.device)};
       const auto part = [&](std::size_t slot) { return HostSpan(bed.pinned.data() + slot * half, half); };
       for (std::size_t i = 0; i < 2; ++i) {
         bed.a.copy(part(i), bed.x.sub(0, half));
         done[i].record(bed.a);
       }
       done[right ? 1 : 0].synchronize();
       host_read(part(1).data(), half);
     }},
    {"A stream that waited long ago doesn't wait for later work",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       for (int i = 0; i < 3; ++i) {
         bed.fill(bed.a, bed.x);
         bed.b.wait_stream(bed.a);
         bed.b.copy(bed.pinned, bed.x);
         bed.a.wait_stream(bed.b);
       }
       bed.fill(bed.a, bed.x);
       if (right) bed.b.wait_stream(bed.a);
       bed.b.copy(bed.pinned, bed.x);
     }},
};

}  // namespace
}  // namespace chains

std::span<const Program> chain_programs() { return chains::programs; }

}  // namespace races
