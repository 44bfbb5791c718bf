// SPDX-License-Identifier: Apache-2.0
//
// Memory that is given back while another stream uses it.
#include <optional>
#include <set>

#include "program.h"

namespace schedules {
namespace memory {
namespace {

using namespace anyplace;

constexpr Program programs[] = {
    {"freed_early", "a buffer is freed while another stream, which record_stream doesn't name, reads it", 1,
     [](Bed& bed, bool right) {
       {
         const Buffer temporary(bed.a, 4096);
         bed.set(bed.a, temporary, 2);
         bed.b.wait_event(bed.a.record_event());
         bed.b.copy(bed.y, temporary.sub(0, 64));
         if (right) temporary.record_stream(bed.b);
       }
       const Buffer next(bed.a, 4096);  // gets the block of the first one
       bed.set(bed.a, next, 3);
       return bed.get(bed.b, bed.y) == 2;
     }},
    {"written_after_free", "a stream writes to a buffer that was freed, and another one has its block", 1,
     [](Bed& bed, bool right) {
       std::optional<Buffer> temporary(std::in_place, bed.a, 4096);
       bed.set(bed.b, *temporary, 3);
       if (right) temporary->record_stream(bed.b);
       temporary.reset();
       const Buffer next(bed.a, 4096);
       bed.set(bed.a, next, 2);
       bed.b.synchronize();
       return bed.get(bed.a, next) == 2;
     }},
    {"handed_to_a_stream", "a buffer of one stream's order is used in another one's at once", 1,
     [](Bed& bed, bool right) {
       {
         const Buffer temporary(bed.a, 4096);
         bed.set(bed.a, temporary, 3);
       }
       const Buffer next(bed.a, 4096);
       if (right) bed.b.wait_stream(bed.a);
       bed.set(bed.b, next, 2);
       bed.a.synchronize();
       return bed.get(bed.b, next) == 2;
     }},
    {"given_to_another", "a stream reads memory of the device's own that was freed, and somebody else has it by then",
     2,
     [](Bed& bed, bool right) {
       set_allocator(bed.device, raw_allocator(bed.device));
       {
         const Buffer temporary(bed.a, 4096);
         bed.set(bed.a, temporary, 2);
         bed.b.wait_event(bed.a.record_event());
         bed.b.copy(bed.y, temporary.sub(0, 64));
         if (right) bed.a.wait_stream(bed.b);
       }
       const Buffer next(bed.a, 4096);
       bed.set(bed.a, next, 3);
       const bool is_right = bed.get(bed.b, bed.y) == 2;
       bed.a.synchronize();
       return is_right;
     }},
    {"known_by_address", "what is known of a buffer is looked up by its address, and another one has the address", 1,
     [](Bed& bed, bool right) {
       set_allocator(bed.device, raw_allocator(bed.device));
       std::set<std::uint64_t> filled;
       for (const std::uint32_t value : {2u, 3u}) {
         const Buffer buffer(bed.a, 4096);
         if (filled.insert(buffer.address()).second || right) bed.set(bed.a, buffer, value);
         bed.a.copy(bed.y, buffer.sub(0, 64));
         bed.a.synchronize();
       }
       return bed.get(bed.a, bed.y) == 3;
     }},
};

}  // namespace
}  // namespace memory

std::span<const Program> memory_programs() { return memory::programs; }

}  // namespace schedules
