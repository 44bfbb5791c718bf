// SPDX-License-Identifier: Apache-2.0
//
// Memory that goes while it is used, and memory that the cache hands on.
#include <optional>
#include <utility>

#include "program.h"

namespace races {
namespace memory {
namespace {

using namespace anyplace;

constexpr Program programs[] = {
    {"A buffer goes while a second stream reads it",
     {"use-after-free", "copy_to_host@b", "free@a"},
     [](Bed& bed, bool right) {
       const Buffer z(bed.a, bytes);
       bed.fill(bed.a, z);
       bed.b.wait_stream(bed.a);
       bed.b.copy(bed.pinned, z);
       if (right) z.record_stream(bed.b);
     }},
    {"A buffer goes while a second stream's kernel uses it",
     {"use-after-free", "kernel add@b", "free@a"},
     [](Bed& bed, bool right) {
       const Buffer z(bed.a, bytes);
       bed.fill(bed.a, z);
       bed.b.wait_stream(bed.a);
       if (right) z.record_stream(bed.b);
       bed.launch_add(bed.b, out(bed.x), in(z));
     }},
    {"A buffer's own stream doesn't wait for the second one before its end",
     {"use-after-free", "copy_to_host@b", "free@a"},
     [](Bed& bed, bool right) {
       const Buffer z(bed.a, bytes);
       bed.fill(bed.a, z);
       bed.b.wait_stream(bed.a);
       bed.b.copy(bed.pinned, z);
       if (right) bed.a.wait_stream(bed.b);
     }},
    {"The host doesn't wait for the second stream before a buffer's end",
     {"use-after-free", "copy_to_host@b", "free@a"},
     [](Bed& bed, bool right) {
       const Buffer z(bed.a, bytes);
       bed.fill(bed.a, z);
       bed.b.wait_stream(bed.a);
       bed.b.copy(bed.pinned, z);
       (right ? bed.b : bed.a).synchronize();
     }},
    {"Another stream is named to a buffer",
     {"use-after-free", "copy_to_host@b", "free@a"},
     [](Bed& bed, bool right) {
       const Buffer z(bed.a, bytes);
       bed.fill(bed.a, z);
       bed.b.wait_stream(bed.a);
       z.record_stream(right ? bed.b : bed.c);
       bed.b.copy(bed.pinned, z);
     }},
    {"One of two streams is named to a buffer",
     {"use-after-free", "copy_to_host@c", "free@a"},
     [](Bed& bed, bool right) {
       const Buffer z(bed.a, bytes);
       bed.fill(bed.a, z);
       bed.b.wait_stream(bed.a);
       bed.c.wait_stream(bed.a);
       bed.b.copy(HostSpan(bed.pinned.data(), half), z.sub(0, half));
       bed.c.copy(HostSpan(bed.pinned.data() + half, half), z.sub(half));
       z.record_stream(bed.b);
       if (right) z.record_stream(bed.c);
     }},
    {"A buffer that is moved over goes while a second stream reads it",
     {"use-after-free", "copy_to_host@b", "free@a"},
     [](Bed& bed, bool right) {
       Buffer z(bed.a, bytes);
       bed.fill(bed.a, z);
       bed.b.wait_stream(bed.a);
       bed.b.copy(bed.pinned, z);
       if (right) z.record_stream(bed.b);
       z = Buffer(bed.a, 2 * bytes);
       bed.b.synchronize();
     }},
    {"A new buffer has memory that its stream is still working on",
     {"use-of-handed-on", "fill@a", "fill@b"},
     [](Bed& bed, bool right) {
       std::optional<Buffer> z(std::in_place, bed.a, bytes);
       bed.fill(bed.a, *z);
       z.emplace(bed.a, bytes);  // the stream's order keeps the two apart
       if (right) bed.b.wait_stream(bed.a);
       bed.fill(bed.b, *z);
       z->record_stream(bed.b);
     }},
    {"A buffer is freed on another stream than the one that wrote it last",
     {"use-after-free", "fill@b", "free@a"},
     [](Bed& bed, bool right) {
       const Buffer z(right ? bed.b : bed.a, bytes);
       bed.device.synchronize();
       bed.fill(bed.b, z);
     }},
    {"Memory is used by its address after its buffer's end",
     {"use-after-free", "free", "fill@a"},
     [](Bed& bed, bool right) {
       if (!bed.device.has(Capability::host_copy)) return bed.leave_out("the library would write there itself");
       Buffer z(bed.a, bytes);
       const Address address(z.address());
       const std::uint32_t one = 1;
       if (!right) z = Buffer();
       bed.a.fill(address, &one, sizeof(one), bytes);
     }},
    {"A pinned buffer goes while a kernel that has its address writes it",
     {"use-after-free", "kernel add@a", "free"},
     [](Bed& bed, bool right) {
       const HostBuffer host(bed.device, bytes);
       if (right) host.record_stream(bed.a);
       bed.launch_add(bed.a, host.as<std::uint32_t>().data(), in(bed.x));
     }},
    {"A pinned buffer outlives its copies, not the host's look at it",
     {"race", "copy_to_host@a", "host read"},
     [](Bed& bed, bool right) {
       const HostBuffer host(bed.device, bytes);
       bed.a.copy(host, bed.x);
       if (!right) host_read(host.data(), bytes);
     }},
};

}  // namespace
}  // namespace memory

std::span<const Program> memory_programs() { return memory::programs; }

}  // namespace races
