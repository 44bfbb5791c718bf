// SPDX-License-Identifier: Apache-2.0
//
// Host functions, and threads of the host that rely on each other's order.
#include <atomic>
#include <memory>
#include <thread>

#include "program.h"

namespace schedules {
namespace host {
namespace {

using namespace anyplace;

/// What host functions and threads tell each other. It outlives them, because a failing program ends at once.
std::shared_ptr<std::atomic<std::uint32_t>> number(std::uint32_t value) {
  return std::make_shared<std::atomic<std::uint32_t>>(value);
}

constexpr Program programs[] = {
    {"callback_not_awaited", "the host reads what a host function writes, without waiting for it", 1,
     [](Bed& bed, bool right) {
       const auto flag = number(1);
       bed.a.launch_host_func([flag] { *flag = 2; });
       bed.event.record(bed.a);
       if (right) bed.event.synchronize();
       const bool is_right = *flag == 2;
       bed.a.synchronize();
       return is_right;
     }},
    {"callback_writes_source", "a stream copies what the host function of another one writes", 1,
     [](Bed& bed, bool right) {
       const std::uint32_t* const source = &bed.in(bed.pinned);
       bed.a.launch_host_func([source] { *const_cast<std::uint32_t*>(source) = 2; });
       if (right) bed.b.wait_stream(bed.a);
       bed.b.copy(bed.x, bed.pinned);
       const bool is_right = bed.get(bed.b, bed.x) == 2;
       bed.a.synchronize();
       return is_right;
     }},
    {"two_callbacks", "the host functions of two streams are taken to run in the order of their submission", 1,
     [](Bed& bed, bool right) {
       const auto last = number(1);
       bed.a.launch_host_func([last] { *last = 2; });
       if (right) bed.b.wait_stream(bed.a);
       bed.b.launch_host_func([last] { *last = 3; });
       bed.a.synchronize();
       bed.b.synchronize();
       return *last == 3;
     }},
    {"callback_slot_reused", "the host changes what a host function that hasn't run yet will read", 1,
     [](Bed& bed, bool right) {
       const auto slot = number(2), seen = number(0);
       bed.a.launch_host_func([slot, seen] { seen->store(*slot); });
       if (right) bed.a.synchronize();
       *slot = 3;
       bed.increment(bed.a, bed.x);
       bed.a.synchronize();
       return *seen == 2;
     }},
    {"thread_hands_over",
     "a thread reads what another one's stream writes: the threads are ordered, the streams aren't", 1,
     [](Bed& bed, bool right) {
       std::thread([&] {
         bed.set(bed.a, bed.x, 2);
         if (right) bed.a.synchronize();
       }).join();
       return bed.get(bed.b, bed.x) == 2;
     }},
    {"lost_wake_up", "a thread waits for an event that the other one may not have recorded yet", 1,
     [](Bed& bed, bool right) {
       const auto is_recorded = number(0);
       std::thread producer([&] {
         bed.set(bed.a, bed.x, 2);
         bed.event.record(bed.a);
         *is_recorded = 1;
         is_recorded->notify_one();
       });
       if (right) is_recorded->wait(0);
       bed.b.wait_event(bed.event);
       const bool is_right = bed.get(bed.b, bed.x) == 2;
       producer.join();
       bed.a.synchronize();
       return is_right;
     }},
    {"two_threads_one_stream", "two threads submit to a stream, and one is taken to be the first", 1,
     [](Bed& bed, bool right) {
       std::thread first([&] { bed.set(bed.a, bed.x, 2); });
       if (right) first.join();
       std::thread second([&] { bed.set(bed.a, bed.x, 3); });
       if (!right) first.join();
       second.join();
       return bed.get(bed.a, bed.x) == 3;
     }},
    {"first_to_wake", "of two threads that wait for one event the first one is taken to go on first", 1,
     [](Bed& bed, bool right) {
       const auto gone_on = number(0);
       bed.set(bed.a, bed.x, 2);
       bed.event.record(bed.a);
       std::uint32_t place = 0;
       std::thread first([&] {
         bed.event.synchronize();
         place = gone_on->fetch_add(1);
         gone_on->notify_one();
       });
       std::thread second([&, gone_on] {
         bed.event.synchronize();
         if (right) gone_on->wait(0);
         gone_on->fetch_add(1);
       });
       first.join();
       second.join();
       return place == 0;
     }},
    {"two_threads_add", "two threads each read a number, add 1 and write it back", 2,
     [](Bed& bed, bool right) {
       const auto add = [&](const Stream& stream, const Buffer& mine) {
         stream.copy(mine, bed.x);
         bed.increment(stream, mine);
         stream.copy(bed.x, mine);
         stream.synchronize();
       };
       std::thread first([&] { add(bed.a, bed.y); });
       if (right) first.join();
       std::thread second([&] { add(bed.b, bed.z); });
       if (!right) first.join();
       second.join();
       return bed.get(bed.a, bed.x) == 3;
     }},
};

}  // namespace
}  // namespace host

std::span<const Program> host_programs() { return host::programs; }

}  // namespace schedules
