// SPDX-License-Identifier: Apache-2.0
//
// The bytes of copies and fills: ranges that touch and ranges that overlap, lines with gaps, and the host's side,
// pinned and pageable.
#include <algorithm>

#include "program.h"

namespace races {
namespace copies {
namespace {

using namespace anyplace;

/// Lines of 256 bytes, of which copies take a part.
constexpr std::uint64_t pitch = 256, rows = bytes / pitch;

constexpr Program programs[] = {
    {"Ranges overlap by four bytes",
     {"race", "fill@a", "fill@b"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x.sub(0, half));
       bed.fill(bed.b, bed.x.sub(right ? half : half - 4));
     }},
    {"A copy reads one element too many",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x.sub(1024, 1024));
       const std::uint64_t size = right ? 1024 : 1028;
       bed.b.copy(HostSpan(bed.pinned.data(), size), bed.x.sub(0, size));
     }},
    {"A copy has bytes",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       const std::uint64_t size = right ? 0 : 4;
       bed.b.copy(HostSpan(bed.pinned.data(), size), bed.x.sub(16, size));
     }},
    {"A fill by address reaches into another's range",
     {"race", "fill@a", "fill@b"},
     [](Bed& bed, bool right) {
       const std::uint32_t one = 1;
       bed.a.fill(Address(bed.x.address()), &one, sizeof(one), half);
       bed.b.fill(Address(bed.x.address() + (right ? half : half - 512)), &one, sizeof(one), 1024);
     }},
    {"The columns of two pitched copies overlap",
     {"race", "copy_to_device@a", "copy_to_device@b"},
     [](Bed& bed, bool right) {
       const std::uint64_t width = pitch / 2;
       bed.a.copy_2d(bed.x, pitch, ConstHostSpan(bed.pinned.data(), bytes), pitch, width, rows);
       const std::uint64_t from = right ? width : width - 4;
       bed.b.copy_2d(bed.x.sub(from), pitch, ConstHostSpan(bed.pinned.data() + from, bytes - from), pitch, width, rows);
     }},
    {"The rows of two pitched copies overlap",
     {"race", "copy_to_device@a", "copy_to_device@b"},
     [](Bed& bed, bool right) {
       const std::uint64_t width = pitch / 2, above = rows / 2, from = (right ? above : above - 1) * pitch;
       bed.a.copy_2d(bed.x, pitch, ConstHostSpan(bed.pinned.data(), bytes), pitch, width, above);
       bed.b.copy_2d(bed.x.sub(from), pitch, ConstHostSpan(bed.pinned.data(), bytes), pitch, width, above);
     }},
    {"A fill reaches from a gap into a line of a pitched copy",
     {"race", "copy_to_device@a", "fill@b"},
     [](Bed& bed, bool right) {
       const std::uint64_t width = pitch / 2;
       bed.a.copy_2d(bed.x, pitch, ConstHostSpan(bed.pinned.data(), bytes), pitch, width, rows);
       const std::uint64_t more = right ? 0 : 4;
       bed.fill(bed.b, bed.x.sub(3 * pitch + width - more, pitch - width + more));
     }},
    {"A pitched copy reads a line that is written",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x.sub(5 * pitch, pitch));
       const std::uint64_t first = right ? 6 : 5;
       bed.b.copy_2d(HostSpan(bed.pinned.data(), bytes), pitch, bed.x.sub(first * pitch), pitch, 64, 4);
     }},
    {"The source of a copy on the device is overwritten",
     {"race", "copy@a", "fill@b"},
     [](Bed& bed, bool right) {
       bed.a.copy(bed.y, bed.x);
       if (right) bed.b.wait_stream(bed.a);
       bed.fill(bed.b, bed.x);
     }},
    {"The destination of a copy on the device is read",
     {"race", "copy@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.a.copy(bed.y, bed.x);
       bed.b.copy(bed.pinned, right ? bed.x : bed.y);
     }},
    {"Two streams write the same host memory",
     {"race", "copy_to_host@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.a.copy(HostSpan(bed.pinned.data(), half), bed.x.sub(0, half));
       bed.b.copy(HostSpan(bed.pinned.data() + (right ? half : half / 2), half), bed.y.sub(0, half));
     }},
    {"Host memory is sent before it was received",
     {"race", "copy_to_host@a", "copy_to_device@b"},
     [](Bed& bed, bool right) {
       bed.a.copy(bed.pinned, bed.x);
       if (right) bed.b.wait_stream(bed.a);
       bed.b.copy(bed.y, bed.pinned);
     }},
    {"The host overwrites the pinned source of a copy that is pending",
     {"race", "copy_to_device@a", "host write"},
     [](Bed& bed, bool right) {
       bed.a.copy(bed.x, bed.pinned);
       if (right) bed.a.synchronize();
       host_write(bed.pinned.data(), bytes);
     }},
    {"The host reads the pinned destination of a copy that is pending",
     {"race", "copy_to_host@a", "host read"},
     [](Bed& bed, bool right) {
       bed.a.copy(bed.pinned, bed.x);
       if (right) bed.a.synchronize();
       host_read(bed.pinned.data(), bytes);
     }},
    {"The host writes the pinned source where a copy only reads it",
     {"race", "copy_to_device@a", "host write"},
     [](Bed& bed, bool right) {
       bed.a.copy(bed.x, bed.pinned);
       right ? host_read(bed.pinned.data(), 64) : host_write(bed.pinned.data(), 64);
     }},
    {"The host reads the half of pinned memory that a copy writes",
     {"race", "copy_to_host@a", "host read"},
     [](Bed& bed, bool right) {
       bed.a.copy(HostSpan(bed.pinned.data(), half), bed.x.sub(0, half));
       host_read(bed.pinned.data() + (right ? half : half - 1), 64);
     }},
    {"The host reads the pageable destination of a copy that is pending",
     {"race", "copy_to_host@a", "host read"},
     [](Bed& bed, bool right) {
       bed.a.copy(bed.pageable, bed.x);
       if (right) bed.a.synchronize();
       host_read(bed.pageable.data(), bytes);
     }},
    {"The host overwrites the pageable source of a copy that is pending",
     {"race", "copy_to_device@a", "host write"},
     [](Bed& bed, bool right) {
       bed.a.copy(bed.x, bed.pageable);
       if (right) bed.a.synchronize();
       host_write(bed.pageable.data(), bytes);
     }},
    {"A copy of pageable memory isn't taken for a wait",
     {"race", "copy_to_device@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.a.copy(bed.x, bed.pageable);
       if (right) bed.b.wait_stream(bed.a);
       bed.b.copy(bed.pinned, bed.x);
     }},
    {"A copy to pageable memory isn't taken for a wait",
     {"race", "copy_to_host@a", "fill@b"},
     [](Bed& bed, bool right) {
       bed.a.copy(bed.pageable, bed.x);
       if (right) bed.a.synchronize();
       bed.fill(bed.b, bed.x);
     }},
    {"A copy may read its pageable source before earlier work of its stream has written it",
     {"race", "copy_to_host@a", "copy_to_device@a"},
     [](Bed& bed, bool right) {
       const auto middle =
           right ? std::span<std::uint32_t>(bed.pinned.as<std::uint32_t>()) : std::span<std::uint32_t>(bed.pageable);
       bed.a.copy(middle, bed.x);
       bed.a.copy(bed.y, middle);
     }},
    {"Registered memory is overwritten while it is copied",
     {"race", "copy_to_device@a", "host write"},
     [](Bed& bed, bool right) {
       if (!bed.device.has(Capability::host_register)) return bed.leave_out("the device registers no memory");
       const HostRegistration registration(bed.device, bed.pageable);
       bed.a.copy(bed.x, bed.pageable);
       if (right) bed.a.synchronize();
       host_write(bed.pageable.data(), bytes);
       bed.a.synchronize();
     }},
    {"A copy within the host's memory is read before it is done",
     {"race", "copy_on_host@a", "host read"},
     [](Bed& bed, bool right) {
       const std::byte* const from = bed.pinned.data();
       bed.a.copy(HostSpan(bed.pinned.data() + half, half), ConstHostSpan(from, half));
       if (right) bed.a.synchronize();
       host_read(bed.pinned.data() + half, half);
     }},
};

}  // namespace
}  // namespace copies

std::span<const Program> copy_programs() { return copies::programs; }

}  // namespace races
