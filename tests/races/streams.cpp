// SPDX-License-Identifier: Apache-2.0
//
// What orders whole streams: the null stream and the blocking ones, synchronisations of streams and devices, and what
// only looks as if it did.
#include <chrono>
#include <optional>
#include <thread>

#include "program.h"

namespace races {
namespace streams {
namespace {

using namespace anyplace;

constexpr Program programs[] = {
    {"A stream that isn't blocking reads what the null stream writes",
     {"race", "fill@null", "copy_to_host@d"},
     [](Bed& bed, bool right) {
       const Stream d(bed.device, {.blocking = right});
       bed.name("d", d);
       bed.fill(bed.device.default_stream(), bed.x);
       d.copy(bed.pinned, bed.x);
     }},
    {"The null stream reads what a stream that isn't blocking writes",
     {"race", "fill@d", "copy_to_host@null"},
     [](Bed& bed, bool right) {
       const Stream d(bed.device, {.blocking = right});
       bed.name("d", d);
       bed.fill(d, bed.x);
       bed.device.default_stream().copy(bed.pinned, bed.x);
     }},
    {"Two blocking streams aren't ordered with each other",
     {"race", "fill@d", "copy_to_host@e"},
     [](Bed& bed, bool right) {
       const Stream d(bed.device, {.blocking = true}), e(bed.device, {.blocking = true});
       bed.name("d", d);
       bed.name("e", e);
       bed.fill(d, bed.x);
       if (right) bed.fill(bed.device.default_stream(), bed.y);
       e.copy(bed.pinned, bed.x);
     }},
    {"The null stream's work before a blocking stream's doesn't order two of those",
     {"race", "fill@d", "copy_to_host@e"},
     [](Bed& bed, bool right) {
       const Stream d(bed.device, {.blocking = true}), e(bed.device, {.blocking = true});
       bed.name("d", d);
       bed.name("e", e);
       if (!right) bed.fill(bed.device.default_stream(), bed.y);
       bed.fill(d, bed.x);
       if (right) bed.fill(bed.device.default_stream(), bed.y);
       e.copy(bed.pinned, bed.x);
     }},
    {"The null stream passes a blocking stream's order on to those alone that wait",
     {"race", "fill@d", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const Stream d(bed.device, {.blocking = true});
       bed.name("d", d);
       bed.fill(d, bed.x);
       bed.fill(bed.device.default_stream(), bed.y);
       if (right) bed.b.wait_event(bed.device.default_stream().record_event());
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"A thread's own stream isn't ordered with streams that aren't blocking",
     {"race", "fill@own", "copy_to_host@d"},
     [](Bed& bed, bool right) {
       const StreamView own = bed.device.per_thread_stream();
       bed.name("own", own);
       const StreamView d = right ? bed.device.default_stream() : bed.b;
       bed.name("d", d);
       bed.fill(own, bed.x);
       d.copy(bed.pinned, bed.x);
     }},
    {"The own streams of two threads aren't ordered with each other",
     {"race", "fill@theirs", "copy_to_host@own"},
     [](Bed& bed, bool right) {
       std::thread([&] {
         const StreamView theirs = bed.device.per_thread_stream();
         bed.name("theirs", theirs);
         bed.fill(theirs, bed.x);
         if (right) theirs.synchronize();
       }).join();
       const StreamView own = bed.device.per_thread_stream();
       bed.name("own", own);
       own.copy(bed.pinned, bed.x);
     }},
    {"The end of a stream isn't the end of its work",
     {"race", "fill@d", "copy_to_host@a"},
     [](Bed& bed, bool right) {
       {
         const Stream d(bed.device);
         bed.name("d", d);
         bed.fill(d, bed.x);
         if (right) bed.a.wait_stream(d);
       }
       bed.a.copy(bed.pinned, bed.x);
     }},
    {"A destroyed stream that isn't blocking isn't what the null stream waits for",
     {"race", "fill@d", "copy_to_host@null"},
     [](Bed& bed, bool right) {
       {
         const Stream d(bed.device, {.blocking = right});
         bed.name("d", d);
         bed.fill(d, bed.x);
       }
       bed.device.default_stream().copy(bed.pinned, bed.x);
     }},
    {"The end of a thread isn't the end of its own stream's work",
     {"race", "fill@own", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       std::thread([&] {
         const StreamView own = bed.device.per_thread_stream();
         bed.name("own", own);
         bed.fill(own, bed.x);
         bed.event.record(own);
       }).join();
       if (right) bed.b.wait_event(bed.event);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"A stream with a better priority isn't waited for",
     {"race", "fill@high", "copy_to_host@low"},
     [](Bed& bed, bool right) {
       const PriorityRange range = bed.device.priority_range();
       const Stream high(bed.device, {.priority = range.greatest}), low(bed.device, {.priority = range.least});
       bed.name("high", high);
       bed.name("low", low);
       bed.fill(high, bed.x);
       if (right) low.wait_stream(high);
       low.copy(bed.pinned, bed.x);
     }},
    {"The host synchronises another stream",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       (right ? bed.a : bed.c).synchronize();
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"The host synchronises a stream before its work is submitted",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       if (!right) bed.a.synchronize();
       bed.fill(bed.a, bed.x);
       if (right) bed.a.synchronize();
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"The host synchronises the null stream, which the stream isn't ordered with",
     {"race", "fill@d", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const Stream d(bed.device, {.blocking = right});
       bed.name("d", d);
       bed.fill(d, bed.x);
       bed.fill(bed.device.default_stream(), bed.y);
       bed.device.default_stream().synchronize();
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"A query loop asks another stream",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       while (!(right ? bed.a : bed.c).query()) std::this_thread::yield();
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"A stream that was asked has work pending",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.gate.block(bed.a);
       bed.fill(bed.a, bed.x);
       if (bed.a.query()) return;  // never, behind a gate
       if (right) bed.gate.open();
       while (right && !bed.a.query()) std::this_thread::yield();
       bed.b.copy(bed.pinned, bed.x);
       bed.gate.open();
     }},
    {"The host's wait for a stream ran out of time",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.gate.block(bed.a);
       bed.fill(bed.a, bed.x);
       if (right) bed.gate.open();
       const bool done = bed.a.synchronize(right ? std::chrono::nanoseconds(std::chrono::minutes(4))
                                                 : std::chrono::nanoseconds(std::chrono::milliseconds(1)));
       if (done == right) bed.b.copy(bed.pinned, bed.x);
       bed.gate.open();
     }},
    {"The host synchronises the device before the work",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       if (!right) bed.device.synchronize();
       bed.fill(bed.a, bed.x);
       if (right) bed.device.synchronize();
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"The host synchronises another device",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       (right ? bed.device : bed.next_device()).synchronize();
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"The host's wait for a device ran out of time",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.gate.block(bed.a);
       bed.fill(bed.a, bed.x);
       if (right) bed.gate.open();
       const bool done = bed.device.synchronize(right ? std::chrono::nanoseconds(std::chrono::minutes(4))
                                                      : std::chrono::nanoseconds(std::chrono::milliseconds(1)));
       if (done == right) bed.b.copy(bed.pinned, bed.x);
       bed.gate.open();
     }},
    {"The current stream isn't the one of the work",
     {"race", "fill@a", "copy_to_host@d"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       const StreamGuard guard(right ? bed.a : bed.b);
       const StreamView d = current_stream(bed.device);
       bed.name("d", d);
       d.copy(bed.pinned, bed.x);
     }},
};

}  // namespace
}  // namespace streams

std::span<const Program> stream_programs() { return streams::programs; }

}  // namespace races
