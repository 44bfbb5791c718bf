// SPDX-License-Identifier: Apache-2.0
//
// What isn't what it looks like: one stream, event or memory under two handles, current streams, and what a host learns
// from an answer.
#include <thread>
#include <utility>

#include "program.h"

namespace races {
namespace handles {
namespace {

using namespace anyplace;

/// An array of the whole buffer, made on the stream.
Array array_of(const StreamView& stream, const Buffer& buffer) {
  return Array::share(ArrayView(buffer.as<std::uint32_t>()), stream, nullptr);
}

constexpr Program programs[] = {
    {"A wrapped stream is the one that it wraps",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       if (!bed.device.has(Capability::stream_from_native)) return bed.leave_out("it wraps no stream");
       const Stream wrapped = Stream::from_native(bed.device, (right ? bed.a : bed.b).native_handle());
       bed.fill(bed.a, bed.x);
       wrapped.copy(bed.pinned, bed.x);
     }},
    {"A wrapped event is the one that it wraps",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       if (!bed.device.has(Capability::event_from_native)) return bed.leave_out("it wraps no event");
       const Event wrapped = Event::from_native(bed.device, (right ? bed.event : bed.other_event).native_handle());
       bed.fill(bed.a, bed.x);
       wrapped.record(bed.a);
       bed.b.wait_event(bed.event);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"A wrapped buffer is the memory that it wraps",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       const Buffer wrapped = Buffer::from_native(bed.device, bed.x.address(), bytes);
       if (right) bed.b.wait_stream(bed.a);
       bed.b.copy(bed.pinned, wrapped);
       bed.b.synchronize();
     }},
    {"A wrapped buffer goes, and what it wraps is still in use",
     {"race", "copy_to_host@b", "fill@a"},
     [](Bed& bed, bool right) {
       {
         const Buffer wrapped = Buffer::from_native(bed.device, bed.x.address(), bytes);
         bed.b.copy(bed.pinned, wrapped);
         wrapped.record_stream(bed.b);
       }
       if (right) bed.a.wait_stream(bed.b);
       bed.fill(bed.a, bed.x);
     }},
    {"Registered memory is let go of while it is copied",
     {"use-after-free", "copy_to_device@a", "unregister"},
     [](Bed& bed, bool right) {
       if (!bed.device.has(Capability::host_register)) return bed.leave_out("it registers no memory");
       if (bed.device.backend() == "hip") return bed.leave_out("it fails for good where such memory is copied");
       const HostRegistration pins(bed.device, bed.pageable);
       bed.a.copy(bed.x, bed.pageable);
       if (right) bed.a.synchronize();
     }},
    {"The time of another event than the one behind the copy is asked for",
     {"race", "copy_to_host@a", "host read"},
     [](Bed& bed, bool right) {
       if (!bed.device.has(Capability::timed_events)) return bed.leave_out("its events tell no time");
       const Event begin(bed.device, {.timing = true}), before(bed.device, {.timing = true}),
           behind(bed.device, {.timing = true});
       begin.record(bed.a);
       before.record(bed.a);
       bed.a.copy(bed.pinned, bed.x);
       behind.record(bed.a);
       while (true) {
         try {
           static_cast<void>(elapsed_time(begin, right ? behind : before));
           break;
         } catch (const Error&) {  // it isn't complete yet
           std::this_thread::yield();
         }
       }
       host_read(bed.pinned.data(), bytes);
     }},
    {"Another communicator than the one with the work is waited for",
     {"race", "copy@a", "fill@b"},
     [](Bed& bed, bool right) {
       const Communicator first(bed.device, Bootstrap::alone()), second(bed.device, Bootstrap::alone());
       first.all_reduce(bed.a, bed.y.as<float>(), bed.x.as<float>());
       (right ? first : second).synchronize();
       bed.fill(bed.b, bed.x);
     }},
    {"The current stream of one thread isn't another's",
     {"race", "fill@a", "copy_to_host@null"},
     [](Bed& bed, bool right) {
       const StreamGuard guard(bed.a);
       bed.fill(current_stream(bed.device), bed.x);
       std::thread([&] {
         if (right) set_current_stream(bed.a);
         current_stream(bed.device).copy(bed.pinned, bed.x);
       }).join();
     }},
    {"A graph that is launched on the null stream is before the blocking streams' later work alone",
     {"race", "fill@null", "copy_to_host@d"},
     [](Bed& bed, bool right) {
       const Stream d(bed.device, {.blocking = right});
       bed.name("d", d);
       Graph graph(bed.device);
       graph.add_memset32({}, bed.x, 1);
       const GraphExec exec = graph.instantiate();
       exec.launch(bed.device.default_stream());
       d.copy(bed.pinned, bed.x);
       bed.device.synchronize();
     }},
    {"A graph copies to another device, whose own stream doesn't wait for the launch",
     {"race", "copy_between_devices@a", "fill@d"},
     [](Bed& bed, bool right) {
       const Device other = bed.next_device();
       const Stream d(other);
       bed.name("d", d);
       const Buffer z(d, bytes);
       other.synchronize();
       Graph graph(bed.device);
       graph.add_copy({}, z, bed.x);
       const GraphExec exec = graph.instantiate();
       if (!exec.is_native()) bed.leave_out("the library launches such a graph node by node");
       exec.launch(bed.a);
       if (right) d.wait_stream(bed.a);
       bed.fill(d, z);
       bed.device.synchronize();
       other.synchronize();
     }},
    {"A broadcast's result on another device is ready on that device's current stream alone",
     {"race", "copy_between_devices@e", "copy_to_host@d"},
     [](Bed& bed, bool right) {
       const Device other = bed.next_device();
       const Stream d(other), e(other);
       bed.name("d", d);
       bed.name("e", e);
       const Buffer z(e, bytes);
       z.record_stream(d);
       other.synchronize();
       const StreamGuard on_first(bed.a), on_second(e);
       comm::broadcast(array_of(bed.a, bed.x), {.out = {array_of(bed.a, bed.y), array_of(e, z)}});
       if (right) d.wait_stream(e);
       d.copy(bed.pinned, z);
       bed.device.synchronize();
       other.synchronize();
     }},
    {"A stream that is moved stays the same, and the one in its place is another",
     {"race", "fill@d", "copy_to_host@e"},
     [](Bed& bed, bool right) {
       Stream d(bed.device);
       bed.name("d", d);
       bed.fill(d, bed.x);
       const Stream moved = std::move(d);
       d = Stream(bed.device);
       bed.name("e", d);
       (right ? moved : d).copy(bed.pinned, bed.x);
       bed.device.synchronize();
     }},
    {"An event that is destroyed holds back those alone that wait for it already",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       {
         const Event short_lived = bed.a.record_event();
         (right ? bed.b : bed.c).wait_event(short_lived);
       }
       bed.b.copy(bed.pinned, bed.x);
     }},
};

}  // namespace
}  // namespace handles

std::span<const Program> handle_programs() { return handles::programs; }

}  // namespace races
