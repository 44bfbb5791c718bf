// SPDX-License-Identifier: Apache-2.0
//
// Events that are recorded, waited for or asked at the wrong place.
#include "program.h"

namespace schedules {
namespace events {
namespace {

using namespace anyplace;

constexpr Program programs[] = {
    {"no_wait", "a stream reads what another one writes, without a wait", 1,
     [](Bed& bed, bool right) {
       bed.set(bed.a, bed.x, 2);
       if (right) bed.b.wait_event(bed.a.record_event());
       return bed.get(bed.b, bed.x) == 2;
     }},
    {"wait_before_record", "a wait comes before the record that it is for", 1,
     [](Bed& bed, bool right) {
       if (!right) bed.b.wait_event(bed.event);
       bed.set(bed.a, bed.x, 2);
       bed.event.record(bed.a);
       if (right) bed.b.wait_event(bed.event);
       return bed.get(bed.b, bed.x) == 2;
     }},
    {"record_too_early", "an event is recorded before the work that it is to stand for", 1,
     [](Bed& bed, bool right) {
       if (!right) bed.event.record(bed.a);
       bed.set(bed.a, bed.x, 2);
       if (right) bed.event.record(bed.a);
       bed.b.wait_event(bed.event);
       return bed.get(bed.b, bed.x) == 2;
     }},
    {"recorded_again", "an event is recorded in another stream before it was waited for", 1,
     [](Bed& bed, bool right) {
       bed.set(bed.a, bed.x, 2);
       bed.event.record(bed.a);
       if (right) bed.b.wait_event(bed.event);
       bed.set(bed.c, bed.y, 2);
       bed.event.record(bed.c);
       if (!right) bed.b.wait_event(bed.event);
       return bed.get(bed.b, bed.x) == 2;
     }},
    {"other_event", "the wait is for the event of another stream", 1,
     [](Bed& bed, bool right) {
       bed.set(bed.a, bed.x, 2);
       bed.event.record(bed.a);
       bed.set(bed.c, bed.y, 2);
       bed.other_event.record(bed.c);
       bed.b.wait_event(right ? bed.event : bed.other_event);
       return bed.get(bed.b, bed.x) == 2;
     }},
    {"wait_too_late", "a stream waits behind the copy that needs the wait", 1,
     [](Bed& bed, bool right) {
       bed.set(bed.a, bed.x, 2);
       bed.event.record(bed.a);
       if (right) bed.b.wait_event(bed.event);
       bed.b.copy(bed.y, bed.x);
       if (!right) bed.b.wait_event(bed.event);
       return bed.get(bed.b, bed.y) == 2;
     }},
    {"two_waits_of_one_event", "an event is recorded twice, and two waits are taken for one of each", 1,
     [](Bed& bed, bool right) {
       bed.set(bed.a, bed.x, 2);
       bed.event.record(bed.a);
       if (right) bed.b.wait_event(bed.event);
       bed.event.record(bed.c);
       bed.b.wait_event(bed.event);
       bed.b.wait_event(bed.event);
       return bed.get(bed.b, bed.x) == 2;
     }},
    {"query_gives_up", "a loop that asks an event gives up after three times", 1,
     [](Bed& bed, bool right) {
       bed.set(bed.a, bed.x, 2);
       bed.a.copy(bed.pinned, bed.x);
       bed.event.record(bed.a);
       bool is_done = false;
       for (int i = 0; i < 3 && !is_done; ++i) is_done = bed.event.query();
       if (right && !is_done) bed.event.synchronize();
       const bool is_right = bed.in(bed.pinned) == 2;
       bed.a.synchronize();
       return is_right;
     }},
    {"never_recorded", "a query of an event that nobody has recorded is taken for the end of the work", 1,
     [](Bed& bed, bool right) {
       bed.set(bed.a, bed.x, 2);
       bed.a.copy(bed.pinned, bed.x);
       bed.event.record(bed.a);
       const EventView asked = right ? bed.event : bed.other_event;
       while (!asked.query()) {
       }
       const bool is_right = bed.in(bed.pinned) == 2;
       bed.a.synchronize();
       return is_right;
     }},
};

}  // namespace
}  // namespace events

std::span<const Program> event_programs() { return events::programs; }

}  // namespace schedules
