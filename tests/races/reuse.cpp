// SPDX-License-Identifier: Apache-2.0
//
// Memory that is used again: staging memory of the host, blocks of the cache, managed memory, lines of pitched copies,
// and what the library does with the host's memory itself.
#include <array>
#include <optional>
#include <vector>

#include "program.h"

namespace races {
namespace reuse {
namespace {

using namespace anyplace;

constexpr std::uint64_t pitch = 256, rows = bytes / pitch;

std::optional<Buffer> managed(const Bed& bed) {
  if (!bed.device.has(Capability::managed_memory)) {
    bed.leave_out("the device has no managed memory");
    return std::nullopt;
  }
  return Buffer(bed.a, bytes, {.kind = MemoryKind::managed});
}

constexpr Program programs[] = {
    {"Staging memory is written anew before its copy is done",
     {"race", "copy_to_device@a", "host write"},
     [](Bed& bed, bool right) {
       for (int round = 0; round < 2; ++round) {
         host_write(bed.pinned.data(), bytes);
         bed.a.copy(bed.x, bed.pinned);
         if (right) bed.a.synchronize();
       }
     }},
    {"Of two staging halves the other one's event is waited for",
     {"race", "copy_to_device@a", "host write"},
     [](Bed& bed, bool right) {
       const std::array<Event, 2> done{Event(bed.device), Event(bed.device)};
       for (std::size_t round = 0; round < 3; ++round) {
         const std::size_t slot = round % 2;
         if (round >= 2) done[right ? slot : 1 - slot].synchronize();
         std::byte* const data = bed.pinned.data() + slot * half;
         host_write(data, half);
         const StreamView stream = slot == 0 ? bed.a.view() : bed.b.view();
         stream.copy((slot == 0 ? bed.x : bed.y).sub(0, half), ConstHostSpan(data, half));
         done[slot].record(stream);
       }
     }},
    {"A temporary buffer goes while a second stream reads it, round after round",
     {"use-after-free", "copy_to_host@b", "free@a"},
     [](Bed& bed, bool right) {
       for (int round = 0; round < 2; ++round) {
         const Buffer z(bed.a, bytes);
         bed.fill(bed.a, z);
         bed.b.wait_stream(bed.a);
         bed.b.copy(bed.pinned, z);
         if (right) bed.a.wait_stream(bed.b);
       }
     }},
    {"A list of buffers is cleared while a second stream reads one",
     {"use-after-free", "copy_to_host@b", "free@a"},
     [](Bed& bed, bool right) {
       std::vector<Buffer> all;
       for (int i = 0; i < 3; ++i) all.emplace_back(bed.a, bytes);
       bed.fill(bed.a, all[1]);
       bed.b.wait_stream(bed.a);
       bed.b.copy(bed.pinned, all[1]);
       all[right ? 1 : 0].record_stream(bed.b);
       all.clear();
     }},
    {"A new buffer's user waits for a point before the earlier owner's work",
     {"use-of-handed-on", "fill@a", "fill@c"},
     [](Bed& bed, bool right) {
       std::optional<Buffer> z(std::in_place, bed.a, bytes);
       if (!right) bed.event.record(bed.a);
       bed.fill(bed.a, *z);
       if (right) bed.event.record(bed.a);
       z.emplace(bed.a, bytes);
       z->record_stream(bed.c);
       bed.c.wait_event(bed.event);
       bed.fill(bed.c, *z);
     }},
    {"A buffer outlives its stream, and not the second stream's work",
     {"use-after-free", "fill@b", "free@d"},
     [](Bed& bed, bool right) {
       std::optional<Buffer> z;
       {
         const Stream d(bed.device);
         bed.name("d", d);
         z.emplace(d, bytes);
       }
       bed.fill(bed.b, *z);
       if (right) z->record_stream(bed.b);
       z.reset();
     }},
    {"The host reads managed memory that a fill writes",
     {"race", "fill@a", "host read"},
     [](Bed& bed, bool right) {
       const std::optional<Buffer> z = managed(bed);
       if (!z) return;
       bed.fill(bed.a, *z);
       if (right) bed.a.synchronize();
       host_read(*z);
       bed.a.synchronize();
     }},
    {"The host writes managed memory that a kernel reads",
     {"race", "kernel add@a", "host write"},
     [](Bed& bed, bool right) {
       const std::optional<Buffer> z = managed(bed);
       if (!z) return;
       host_write(*z);
       bed.launch_add(bed.a, inout(bed.y), in(*z));
       if (right) bed.a.synchronize();
       host_write(*z);
       bed.a.synchronize();
     }},
    {"The host writes the half of managed memory that another stream copies",
     {"race", "copy_to_host@b", "host write"},
     [](Bed& bed, bool right) {
       const std::optional<Buffer> z = managed(bed);
       if (!z) return;
       bed.device.synchronize();
       bed.b.copy(HostSpan(bed.pinned.data(), half), z->sub(0, half));
       host_write(z->sub(right ? half : half - 64, 64));
       bed.device.synchronize();
     }},
    {"Columns are read while their neighbours are written, and one is both",
     {"race", "copy_to_device@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       std::vector<std::uint32_t> lines(half / sizeof(std::uint32_t));
       bed.a.copy_2d(bed.x, pitch, ConstHostSpan(bed.pinned.data(), half), 64, 64, rows);
       bed.b.copy_2d(HostSpan(bed.pinned.data() + half, half), 64, bed.x.sub(right ? 64 : 60), pitch, 64, rows);
     }},
    {"A pitched copy on the device takes a line that is filled",
     {"race", "fill@a", "copy@b"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x.sub(7 * pitch, pitch));
       bed.b.copy_2d(bed.y, pitch, bed.x, pitch, 64, right ? 7 : 8);
     }},
    {"The host reads between the lines that a copy writes",
     {"race", "copy_to_host@a", "host read"},
     [](Bed& bed, bool right) {
       bed.a.copy_2d(HostSpan(bed.pinned.data(), bytes), pitch, bed.x, pitch, 128, rows);
       host_read(bed.pinned.data() + 2 * pitch + (right ? 128 : 64), 128);
     }},
    {"A fill of host memory isn't waited for",
     {"race", "fill@a", "host read"},
     [](Bed& bed, bool right) {
       const std::uint32_t one = 1;
       bed.a.fill(Address(bed.pinned.data()), &one, sizeof(one), bytes);
       if (right) bed.a.synchronize();
       host_read(bed.pinned.data(), bytes);
     }},
    {"A copy within the host's memory reads what another stream copies there",
     {"race", "copy_to_host@a", "copy_on_host@b"},
     [](Bed& bed, bool right) {
       bed.a.copy(HostSpan(bed.pinned.data(), half), bed.x.sub(0, half));
       if (right) bed.b.wait_stream(bed.a);
       const std::byte* const from = bed.pinned.data();
       bed.b.copy(HostSpan(bed.pinned.data() + half, half), ConstHostSpan(from, half));
     }},
    {"A copy takes to the device what is copied within the host's memory",
     {"race", "copy_on_host@a", "copy_to_device@b"},
     [](Bed& bed, bool right) {
       const std::byte* const from = bed.pinned.data();
       bed.a.copy(HostSpan(bed.pinned.data() + half, half), ConstHostSpan(from, half));
       if (right) bed.b.wait_event(bed.a.record_event());
       bed.b.copy(bed.y.sub(0, half), ConstHostSpan(from + half, half));
     }},
    {"A graph's copy within the host's memory isn't behind the one that it reads from",
     {"race", "copy_to_host", "copy_on_host"},
     [](Bed& bed, bool right) {
       const std::byte* const from = bed.pinned.data();
       Graph graph(bed.device);
       const GraphNode first = graph.add_copy({}, HostSpan(bed.pinned.data(), half), bed.x.sub(0, half));
       graph.add_copy(right ? After(first) : After(), HostSpan(bed.pinned.data() + half, half),
                      ConstHostSpan(from, half));
       const GraphExec exec = graph.instantiate();
       if (!exec.is_native()) return bed.leave_out("the device launches no such graph");
       exec.launch(bed.a);
     }},
};

}  // namespace
}  // namespace reuse

std::span<const Program> reuse_programs() { return reuse::programs; }

}  // namespace races
