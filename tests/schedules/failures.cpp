// SPDX-License-Identifier: Apache-2.0
//
// What only a call that fails leads to: each program runs under rules of the layer `faults`, which draws from the seed.
#include "program.h"

namespace schedules {
namespace failures {
namespace {

using namespace anyplace;

constexpr Program programs[] = {
    {"retried", "what is done instead when memory is short lacks the wait that the usual way has", 1,
     [](Bed& bed, bool right) {
       set_allocator(bed.device, raw_allocator(bed.device));  // The cache would ask for memory once.
       bed.set(bed.a, bed.x, 2);
       try {
         const Buffer workspace(bed.b, 64);
         bed.b.wait_stream(bed.a);
         bed.b.copy(workspace, bed.x);
         bed.b.copy(bed.y, workspace);
       } catch (const Error& error) {
         if (error.code() != ErrorCode::out_of_memory) throw;
         if (right) bed.b.wait_stream(bed.a);
         bed.b.copy(bed.y, bed.x);
       }
       return bed.get(bed.b, bed.y) == 2;
     },
     "memory_allocate_async=out_of_memory probability=0.5"},
    {"lost", "what goes on at another device when one is lost lacks the wait that the usual way has", 1,
     [](Bed& bed, bool right) {
       const Stream writer(bed.other_device), reader(bed.other_device);
       const Buffer spare(writer, 64);
       try {
         bed.set(bed.a, bed.x, 2);
         bed.a.copy(bed.pinned, bed.x);
         bed.a.synchronize();
       } catch (const Error& error) {
         if (error.code() != ErrorCode::device_lost) throw;
         bed.set(writer, spare, 2);
         if (right) reader.wait_stream(writer);
         reader.copy(bed.other_pinned, spare);
         reader.synchronize();
         return bed.in(bed.other_pinned) == 2;
       }
       return bed.in(bed.pinned) == 2;
     },
     "memory_copy=device_lost place=cpu_sim:0 probability=0.5"},
};

}  // namespace
}  // namespace failures

std::span<const Program> failure_programs() { return failures::programs; }

}  // namespace schedules
