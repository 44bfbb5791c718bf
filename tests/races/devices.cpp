// SPDX-License-Identifier: Apache-2.0
//
// Two devices, of one backend and of two, and two processes: copies between them, events that one records and the other
// waits for.
#include <cstdlib>

#include "ipc/peer.h"
#include "program.h"

namespace races {
namespace devices {
namespace {

using namespace anyplace;

/// A device beside the bed's, with a stream and a buffer.
struct Second {
  explicit Second(const Bed& bed, const Device& of)
      : device(of), stream(device), z(stream, bytes), pinned(device, bytes) {
    bed.name("d", stream);
    device.synchronize();
  }
  ~Second() { device.synchronize(); }

  Device device;
  Stream stream;
  Buffer z;
  HostBuffer pinned;
};

constexpr Program programs[] = {
    {"The source of a copy between devices is overwritten",
     {"race", "copy_between_devices@a", "fill@d"},
     [](Bed& bed, bool right) {
       const Second second(bed, bed.next_device());
       bed.a.copy(bed.x, second.z);
       if (right) second.stream.wait_stream(bed.a);
       bed.fill(second.stream, second.z);
       bed.device.synchronize();
     }},
    {"The destination of a copy between devices is read",
     {"race", "copy_between_devices@a", "copy_to_host@d"},
     [](Bed& bed, bool right) {
       const Second second(bed, bed.next_device());
       bed.a.copy(second.z, bed.x);
       if (right) second.stream.wait_event(bed.a.record_event());
       second.stream.copy(second.pinned, second.z);
       bed.device.synchronize();
     }},
    {"A copy between devices doesn't wait for its source",
     {"race", "fill@d", "copy_between_devices@a"},
     [](Bed& bed, bool right) {
       const Second second(bed, bed.next_device());
       bed.fill(second.stream, second.z);
       if (right) bed.a.wait_stream(second.stream);
       bed.a.copy(bed.x, second.z);
       bed.device.synchronize();
     }},
    {"The host synchronises the device that a copy reads from, and not the one that it runs on",
     {"race", "copy_between_devices@a", "copy_to_host@d"},
     [](Bed& bed, bool right) {
       const Second second(bed, bed.next_device());
       bed.a.copy(second.z, bed.x);
       (right ? bed.device : second.device).synchronize();
       second.stream.copy(second.pinned, second.z);
       bed.device.synchronize();
     }},
    {"Two devices use one pinned buffer",
     {"race", "copy_to_host@a", "copy_to_device@d"},
     [](Bed& bed, bool right) {
       const Second second(bed, bed.next_device());
       bed.a.copy(bed.pinned, bed.x);
       if (right) second.stream.wait_stream(bed.a);
       second.stream.copy(second.z, bed.pinned);
     }},
    {"A chain over two devices lacks a link",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const Second second(bed, bed.next_device());
       bed.fill(bed.a, bed.x);
       if (right) second.stream.wait_stream(bed.a);
       bed.b.wait_event(second.stream.record_event());
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"The null streams of two devices aren't ordered with each other",
     {"race", "copy_to_host@null", "copy_to_device@d"},
     [](Bed& bed, bool right) {
       const Second second(bed, bed.next_device());
       const StreamView null = second.device.default_stream();
       bed.name("d", null);
       bed.device.default_stream().copy(bed.pinned, bed.x);
       if (right) null.wait_stream(bed.device.default_stream());
       null.copy(second.z, bed.pinned);
     }},
    {"A buffer goes while another device copies from it",
     {"use-after-free", "copy_between_devices@d", "free@a"},
     [](Bed& bed, bool right) {
       const Second second(bed, bed.next_device());
       const Buffer z(bed.a, bytes);
       bed.fill(bed.a, z);
       second.stream.wait_stream(bed.a);
       second.stream.copy(second.z, z);
       if (right) z.record_stream(second.stream);
     }},
    {"A stream of another backend reads what a copy writes",
     {"race", "copy_to_host@a", "copy_to_device@d"},
     [](Bed& bed, bool right) {
       const Second second(bed, Device("cpu_sim:0"));
       bed.a.copy(bed.pageable, bed.x);
       if (right) second.stream.wait_stream(bed.a);
       if (right) second.stream.synchronize();
       second.stream.copy(second.z, bed.pageable);
     },
     Needs::other_backend},
    {"Another backend isn't waited for before its memory is overwritten",
     {"race", "copy_to_host@a", "host write"},
     [](Bed& bed, bool right) {
       const Second second(bed, Device("cpu_sim:0"));
       bed.a.copy(bed.pageable, bed.x);
       second.stream.wait_stream(right ? bed.a : bed.c);
       second.stream.synchronize();
       host_write(bed.pageable.data(), bytes);
     },
     Needs::other_backend},
    {"A stream waits for one that waits for another backend",
     {"race", "copy_to_device@d", "copy_to_host@e"},
     [](Bed& bed, bool right) {
       const Second second(bed, Device("cpu_sim:0"));
       const Stream e(second.device);
       bed.name("e", e);
       bed.gate.block(bed.a);
       bed.fill(bed.a, bed.x);
       second.stream.wait_stream(bed.a);
       second.stream.copy(second.z, second.pinned);
       second.z.record_stream(e);
       if (right) e.wait_stream(second.stream);
       e.copy(bed.pageable, second.z);
       bed.gate.open();
       e.synchronize();
     },
     Needs::other_backend},
    {"A stream of a backend waits for one that waits for cpu_sim",
     {"race", "copy_to_device@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const Second second(bed, Device("cpu_sim:0"));
       const HostBuffer read(bed.device, bytes);
       bed.gate.block(second.stream);
       second.stream.copy(second.z, second.pinned);
       bed.a.wait_stream(second.stream);
       bed.a.copy(bed.x, ConstHostSpan(bed.pinned.data(), bytes));
       if (right) bed.b.wait_stream(bed.a);
       bed.b.copy(read, bed.x);
       bed.gate.open();
       bed.device.synchronize();
     },
     Needs::other_backend},
    {"Two streams use another process's buffer",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       ::unsetenv("ANYPLACE_LAYERS");
       test::Peer peer("cpu_sim:0");
       peer.must("buffer z 4096 shareable");
       const Buffer z = Buffer::import(bed.a, peer.handle("export z"));
       bed.fill(bed.a, z);
       if (right) bed.b.wait_stream(bed.a);
       bed.b.copy(bed.pinned, z);
       bed.device.synchronize();
     },
     Needs::sharing},
    {"The event that another process records isn't this process's own order",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       ::unsetenv("ANYPLACE_LAYERS");
       test::Peer peer("cpu_sim:0");
       peer.must("buffer z 4096 shareable");
       peer.must("event e");
       const Buffer z = Buffer::import(bed.a, peer.handle("export z"));
       const Event e = Event::import(bed.device, peer.handle("export-event e"));
       bed.fill(bed.a, z);
       right ? e.record(bed.a) : static_cast<void>(peer.must("record e"));
       bed.b.wait_event(e);
       bed.b.copy(bed.pinned, z);
       bed.device.synchronize();
     },
     Needs::sharing},
    {"Another process waits for this one's stream, and this one doesn't wait for it in turn",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       ::unsetenv("ANYPLACE_LAYERS");
       test::Peer peer("cpu_sim:0");
       peer.must("event theirs");
       const Event theirs = Event::import(bed.device, peer.handle("export-event theirs"));
       const Event ours(bed.device, {.interprocess = true});
       peer.send("import-event ours", ours.export_handle());
       bed.fill(bed.a, bed.x);
       ours.record(bed.a);
       peer.must("wait ours");
       peer.must("record theirs");
       if (right) bed.b.wait_event(theirs);
       bed.b.copy(bed.pinned, bed.x);
       bed.device.synchronize();
     },
     Needs::sharing},
    {"Another process records its event behind what this one shared, and not behind its later work",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       ::unsetenv("ANYPLACE_LAYERS");
       test::Peer peer("cpu_sim:0");
       peer.must("event theirs");
       const Event theirs = Event::import(bed.device, peer.handle("export-event theirs"));
       const Event ours(bed.device, {.interprocess = true});
       peer.send("import-event ours", ours.export_handle());
       if (!right) ours.record(bed.a);
       bed.fill(bed.a, bed.x);
       if (right) ours.record(bed.a);
       peer.must("wait ours");
       peer.must("record theirs");
       theirs.synchronize();
       bed.b.copy(bed.pinned, bed.x);
       bed.device.synchronize();
     },
     Needs::sharing},
};

}  // namespace
}  // namespace devices

std::span<const Program> device_programs() { return devices::programs; }

}  // namespace races
