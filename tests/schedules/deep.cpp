// SPDX-License-Identifier: Apache-2.0
//
// Bugs of which several orders have to come together. A stream `a` writes, a stream `b` looks.
#include "program.h"

namespace schedules {
namespace deep {
namespace {

using namespace anyplace;

/// `a` writes 2, 3 and so on to x. `b` looks at x as often as there are buffers. In the right form each look waits for
/// all writes.
template <std::size_t Count>
void write_and_look(Bed& bed, bool right, std::uint32_t writes, const Buffer* const (&looks)[Count]) {
  for (std::uint32_t i = 0; i < writes; ++i) bed.set(bed.a, bed.x, 2 + i);
  if (right) bed.b.wait_event(bed.a.record_event());
  for (const Buffer* const look : looks) bed.b.copy(*look, bed.x);
  bed.b.synchronize();
  bed.a.synchronize();
}

constexpr Program programs[] = {
    {"lost_update", "two streams read a number, add 1 and write it back", 2,
     [](Bed& bed, bool right) {
       bed.a.copy(bed.y, bed.x);
       bed.increment(bed.a, bed.y);
       bed.a.copy(bed.x, bed.y);
       if (right) bed.b.wait_event(bed.a.record_event());
       bed.b.copy(bed.z, bed.x);
       bed.increment(bed.b, bed.z);
       bed.b.copy(bed.x, bed.z);
       bed.a.synchronize();
       bed.b.synchronize();
       return bed.get(bed.a, bed.x) == 3;
     }},
    {"torn_pair", "a reader sees the old half of a pair and the new one", 2,
     [](Bed& bed, bool right) {
       bed.set(bed.a, bed.x, 2);
       bed.set(bed.a, bed.y, 2);
       if (right) bed.b.wait_event(bed.a.record_event());
       bed.b.copy(bed.z.sub(0, 4), bed.x.sub(0, 4));
       bed.b.copy(bed.z.sub(4, 4), bed.y.sub(0, 4));
       bed.a.synchronize();
       const std::uint32_t first = bed.get(bed.b, bed.z.sub(0, 4)), second = bed.get(bed.b, bed.z.sub(4, 4));
       return !(first == 1 && second == 2);
     }},
    {"half_way", "a reader's look falls between two writes", 2,
     [](Bed& bed, bool right) {
       const Buffer* const looks[] = {&bed.y};
       write_and_look(bed, right, 2, looks);
       return bed.get(bed.b, bed.y) != 2;
     }},
    {"two_looks", "a reader's looks at one number fall on both sides of a write, and behind another one", 3,
     [](Bed& bed, bool right) {
       const Buffer* const looks[] = {&bed.y, &bed.z};
       write_and_look(bed, right, 2, looks);
       return !(bed.get(bed.b, bed.y) == 2 && bed.get(bed.b, bed.z) == 3);
     }},
    {"three_writes", "a reader's two looks fall between three writes", 4,
     [](Bed& bed, bool right) {
       const Buffer* const looks[] = {&bed.y, &bed.z};
       write_and_look(bed, right, 3, looks);
       return !(bed.get(bed.b, bed.y) == 2 && bed.get(bed.b, bed.z) == 3);
     }},
    {"ring_of_three", "in a ring of three streams the next round doesn't wait for the last step of this one", 2,
     [](Bed& bed, bool right) {
       bed.set(bed.a, bed.x, 2);
       bed.b.wait_event(bed.a.record_event());
       bed.b.copy(bed.y, bed.x);
       bed.c.wait_event(bed.b.record_event());
       bed.c.copy(bed.z, bed.y);
       bed.a.wait_event((right ? bed.c : bed.b).record_event());
       bed.set(bed.a, bed.x, 3);  // the next round's first step
       if (right) bed.b.wait_event(bed.a.record_event());
       bed.b.copy(bed.y, bed.x);
       bed.b.synchronize();
       bed.a.synchronize();
       return bed.get(bed.c, bed.z) == 2;
     }},
};

}  // namespace
}  // namespace deep

std::span<const Program> deep_programs() { return deep::programs; }

}  // namespace schedules
