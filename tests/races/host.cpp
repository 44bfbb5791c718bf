// SPDX-License-Identifier: Apache-2.0
//
// Host functions and host threads, with what they say that they read and write.
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "program.h"

namespace races {
namespace host {
namespace {

using namespace anyplace;

constexpr Program programs[] = {
    {"A host function on another stream reads what a copy writes",
     {"race", "copy_to_host@a", "host read@d"},
     [](Bed& bed, bool right) {
       const StreamView d = right ? bed.a.view() : bed.b.view();
       bed.name("d", d);
       bed.a.copy(bed.pinned, bed.x);
       d.launch_host_func([data = bed.pinned.data()] { host_read(data, bytes); });
     }},
    {"A host function writes what another stream copies",
     {"race", "host write@a", "copy_to_device@b"},
     [](Bed& bed, bool right) {
       bed.gate.block(bed.a);
       bed.a.launch_host_func([data = bed.pinned.data()] { host_write(data, bytes); });
       if (right) bed.b.wait_stream(bed.a);
       bed.b.copy(bed.y, bed.pinned);
       bed.gate.open();
     }},
    {"The host writes what a host function reads",
     {"race", "host read@a", "host write"},
     [](Bed& bed, bool right) {
       bed.gate.block(bed.a);
       bed.a.launch_host_func([data = bed.pinned.data()] { host_read(data, bytes); });
       if (right) bed.gate.open();
       if (right) bed.a.synchronize();
       host_write(bed.pinned.data(), bytes);
       bed.gate.open();
     }},
    {"A host function fills pageable memory that a copy may read before",
     {"race", "host write@a", "copy_to_device@a"},
     [](Bed& bed, bool right) {
       auto* const data = right ? bed.pinned.as<std::uint32_t>().data() : bed.pageable.data();
       bed.gate.block(bed.a);
       bed.a.launch_host_func([data] { host_write(data, bytes); });
       bed.a.copy(bed.x, ConstHostSpan(data, bytes));
       bed.gate.open();
     }},
    {"The work of a thread that was joined isn't waited for",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       std::thread([&] {
         bed.fill(bed.a, bed.x);
         if (right) bed.a.synchronize();
       }).join();
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"A thread records the event before its work",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       std::thread([&] {
         if (!right) bed.event.record(bed.a);
         bed.fill(bed.a, bed.x);
         if (right) bed.event.record(bed.a);
       }).join();
       bed.b.wait_event(bed.event);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"A consumer's thread is told, and its stream doesn't wait",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       std::mutex mutex;
       std::condition_variable changed;
       bool there = false;  // guarded by mutex
       std::thread consumer([&] {
         std::unique_lock lock(mutex);
         changed.wait(lock, [&] { return there; });
         if (right) bed.b.wait_event(bed.event);
         bed.b.copy(bed.pinned, bed.x);
       });
       bed.fill(bed.a, bed.x);
       bed.event.record(bed.a);
       {
         const std::lock_guard lock(mutex);
         there = true;
       }
       changed.notify_one();
       consumer.join();
     }},
    {"Another thread reads what a copy writes",
     {"race", "copy_to_host@a", "host read"},
     [](Bed& bed, bool right) {
       bed.a.copy(bed.pinned, bed.x);
       if (right) bed.a.synchronize();
       std::thread([&] { host_read(bed.pinned.data(), bytes); }).join();
     }},
    {"One thread of several works on a stream of its own",
     {"race", "fill@a", "fill@d"},
     [](Bed& bed, bool right) {
       const Stream own(bed.device);
       const StreamView d = right ? bed.a.view() : own.view();
       bed.name("d", d);
       std::thread([&] { bed.fill(bed.a, bed.x); }).join();
       std::thread([&] { bed.fill(d, bed.x); }).join();
     }},
    {"A thread's wait is for its own stream, and holds for the program",
     {"race", "fill@a", "copy_to_host@c"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       std::thread([&] { (right ? bed.a : bed.b).synchronize(); }).join();
       bed.c.copy(bed.pinned, bed.x);
     }},
    {"The host reads what a copy writes before the host function behind it has told it",
     {"race", "copy_to_host@a", "host read"},
     [](Bed& bed, bool right) {
       std::promise<void> told;
       bed.a.copy(bed.pinned, bed.x);
       bed.a.launch_host_func([&] { told.set_value(); });
       if (right) told.get_future().wait();
       host_read(bed.pinned.data(), bytes);
       bed.a.synchronize();
     }},
    {"A stream doesn't wait for work that a host function is behind",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       std::atomic<bool> is_done{false};
       bed.fill(bed.a, bed.x);
       bed.a.launch_host_func([&] { is_done = true; });
       while (right && !is_done) std::this_thread::yield();
       bed.b.copy(bed.pinned, bed.x);
       bed.a.synchronize();
     }},
    {"Another thread than the reader waits for a host function",
     {"race", "copy_to_host@a", "host read"},
     [](Bed& bed, bool right) {
       std::promise<void> told;
       bed.a.copy(bed.pinned, bed.x);
       bed.a.launch_host_func([&] { told.set_value(); });
       std::thread waiting([&] { told.get_future().wait(); });
       if (right) waiting.join();
       host_read(bed.pinned.data(), bytes);
       if (!right) waiting.join();
       bed.a.synchronize();
     }},
    {"Host functions of two streams share memory",
     {"race", "host write@a", "host read@b"},
     [](Bed& bed, bool right) {
       bed.a.launch_host_func([data = bed.pinned.data()] { host_write(data, bytes); });
       if (right) bed.b.wait_stream(bed.a);
       bed.b.launch_host_func([data = bed.pinned.data()] { host_read(data, bytes); });
       bed.device.synchronize();
     }},
    {"A copy overwrites what a host function is yet to read",
     {"race", "host read@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.a.launch_host_func([data = bed.pinned.data()] { host_read(data, bytes); });
       if (right) bed.b.wait_stream(bed.a);
       bed.b.copy(bed.pinned, bed.x);
       bed.device.synchronize();
     }},
    {"The host reads what a host function is yet to write",
     {"race", "host write@a", "host read"},
     [](Bed& bed, bool right) {
       bed.a.launch_host_func([data = bed.pinned.data()] { host_write(data, bytes); });
       if (right) bed.a.synchronize();
       host_read(bed.pinned.data(), bytes);
       bed.a.synchronize();
     }},
};

}  // namespace
}  // namespace host

std::span<const Program> host_programs() { return host::programs; }

}  // namespace races
