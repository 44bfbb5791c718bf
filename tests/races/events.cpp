// SPDX-License-Identifier: Apache-2.0
//
// Two streams and an event: waits that are missing, too early, for another record or on another stream, and what a host
// learns of an event.
#include <chrono>
#include <thread>

#include "program.h"

namespace races {
namespace events {
namespace {

using namespace anyplace;

constexpr Expected read_too_early{"race", "fill@a", "copy_to_host@b"};

/// Returns once the event is complete.
void spin(const EventView& event) {
  while (!event.query()) std::this_thread::yield();
}

constexpr Program programs[] = {
    {"A wait is missing", read_too_early,
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       if (right) bed.b.wait_event(bed.a.record_event());
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"Memory is written before an earlier reader is waited for",
     {"race", "copy_to_host@a", "fill@b"},
     [](Bed& bed, bool right) {
       bed.a.copy(bed.pinned, bed.x);
       if (right) bed.b.wait_event(bed.a.record_event());
       bed.fill(bed.b, bed.x);
     }},
    {"Two streams write the same memory",
     {"race", "fill@a", "fill@b"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       if (right) bed.b.wait_event(bed.a.record_event());
       bed.fill(bed.b, bed.x);
     }},
    {"One of two readers writes",
     {"race", "copy_to_host@a", "fill@b"},
     [](Bed& bed, bool right) {
       bed.a.copy(HostSpan(bed.pinned.data(), half), bed.x.sub(0, half));
       if (right) bed.b.copy(HostSpan(bed.pinned.data() + half, half), bed.x.sub(0, half));
       if (!right) bed.fill(bed.b, bed.x.sub(0, half));
     }},
    {"An event is waited for before it is recorded", read_too_early,
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       if (!right) bed.b.wait_event(bed.event);
       bed.event.record(bed.a);
       if (right) bed.b.wait_event(bed.event);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"An event is recorded before the work", read_too_early,
     [](Bed& bed, bool right) {
       if (!right) bed.event.record(bed.a);
       bed.fill(bed.a, bed.x);
       if (right) bed.event.record(bed.a);
       bed.b.wait_event(bed.event);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"A wait took the record before the last one", read_too_early,
     [](Bed& bed, bool right) {
       bed.event.record(bed.a);
       if (!right) bed.b.wait_event(bed.event);
       bed.fill(bed.a, bed.x);
       bed.event.record(bed.a);
       if (right) bed.b.wait_event(bed.event);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"Another stream records the event before it is waited for", read_too_early,
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       bed.event.record(bed.a);
       if (right) bed.c.wait_event(bed.event);
       bed.event.record(bed.c);
       bed.b.wait_event(bed.event);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"An event that took the place of the recorded one is waited for", read_too_early,
     [](Bed& bed, bool right) {
       Event event(bed.device);
       bed.fill(bed.a, bed.x);
       event.record(bed.a);
       if (!right) event = Event(bed.device);
       bed.b.wait_event(event);
       event = Event(bed.device);  // a wait that was submitted outlives its event
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"Another stream than the reader waits", read_too_early,
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       bed.event.record(bed.a);
       (right ? bed.b : bed.c).wait_event(bed.event);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"A wait comes after what it is for", read_too_early,
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       bed.event.record(bed.a);
       if (right) bed.b.wait_event(bed.event);
       bed.b.copy(bed.pinned, bed.x);
       if (!right) bed.b.wait_event(bed.event);
     }},
    {"Another event is waited for", read_too_early,
     [](Bed& bed, bool right) {
       bed.other_event.record(bed.a);
       bed.fill(bed.a, bed.x);
       bed.event.record(bed.a);
       bed.b.wait_event(right ? bed.event : bed.other_event);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"A stream is waited for before its work is submitted", read_too_early,
     [](Bed& bed, bool right) {
       if (!right) bed.b.wait_stream(bed.a);
       bed.fill(bed.a, bed.x);
       if (right) bed.b.wait_stream(bed.a);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"Another stream is waited for", read_too_early,
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       bed.b.wait_stream(right ? bed.a : bed.c);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"The host synchronises an event from before the work", read_too_early,
     [](Bed& bed, bool right) {
       bed.other_event.record(bed.a);
       bed.fill(bed.a, bed.x);
       bed.event.record(bed.a);
       (right ? bed.event : bed.other_event).synchronize();
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"The host synchronises an event that was never recorded", read_too_early,
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       if (right) bed.event.record(bed.a);
       bed.event.synchronize();
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"A query loop asks about an event from before the work", read_too_early,
     [](Bed& bed, bool right) {
       bed.other_event.record(bed.a);
       bed.fill(bed.a, bed.x);
       bed.event.record(bed.a);
       spin(right ? bed.event : bed.other_event);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"The answer of a query is that the work is pending", read_too_early,
     [](Bed& bed, bool right) {
       bed.gate.block(bed.a);
       bed.fill(bed.a, bed.x);
       bed.event.record(bed.a);
       if (bed.event.query()) return;  // never, behind a gate
       if (right) bed.gate.open();
       if (right) spin(bed.event);
       bed.b.copy(bed.pinned, bed.x);
       bed.gate.open();
     }},
    {"The host's wait for an event ran out of time", read_too_early,
     [](Bed& bed, bool right) {
       bed.gate.block(bed.a);
       bed.fill(bed.a, bed.x);
       bed.event.record(bed.a);
       if (right) bed.gate.open();
       const bool done = bed.event.synchronize(right ? std::chrono::nanoseconds(std::chrono::minutes(4))
                                                     : std::chrono::nanoseconds(std::chrono::milliseconds(1)));
       if (done == right) bed.b.copy(bed.pinned, bed.x);
       bed.gate.open();
     }},
    {"A complete event is recorded anew before it is waited for", read_too_early,
     [](Bed& bed, bool right) {
       bed.event.record(bed.a);
       bed.event.synchronize();
       bed.fill(bed.a, bed.x);
       if (right) bed.event.record(bed.a);
       bed.b.wait_event(bed.event);
       bed.b.copy(bed.pinned, bed.x);
     }},
};

}  // namespace
}  // namespace events

std::span<const Program> event_programs() { return events::programs; }

}  // namespace races
