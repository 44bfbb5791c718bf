// SPDX-License-Identifier: Apache-2.0
//
// Kernels: what their arguments say of access and range, and what is taken for both where they say nothing.
#include <vector>

#include "program.h"

namespace races {
namespace kernels {
namespace {

using namespace anyplace;

constexpr Program programs[] = {
    {"An argument that isn't declared is read and written",
     {"race", "kernel add@a", "kernel add@b"},
     [](Bed& bed, bool right) {
       const Buffer z(bed.a, bytes);
       bed.device.synchronize();
       right ? bed.launch_add(bed.a, out(bed.y), in(bed.x)) : bed.launch_add(bed.a, out(bed.y), bed.x);
       bed.launch_add(bed.b, out(z), in(bed.x));
       bed.device.synchronize();
     }},
    {"A kernel writes what another one reads",
     {"race", "kernel add@a", "kernel add@b"},
     [](Bed& bed, bool right) {
       const Buffer z(bed.a, bytes);
       bed.device.synchronize();
       bed.launch_add(bed.a, inout(bed.y), in(bed.x));
       if (right) bed.b.wait_stream(bed.a);
       bed.launch_add(bed.b, out(z), in(bed.y));
       bed.device.synchronize();
     }},
    {"A kernel reads what another one writes later",
     {"race", "kernel add@a", "kernel add@b"},
     [](Bed& bed, bool right) {
       bed.launch_add(bed.a, out(bed.y), in(bed.x));
       if (right) bed.b.wait_event(bed.a.record_event());
       bed.launch_add(bed.b, out(bed.x), in(bed.y));
     }},
    {"Two kernels write one buffer",
     {"race", "kernel add@a", "kernel add@b"},
     [](Bed& bed, bool right) {
       bed.launch_add(bed.a, out(bed.y), in(bed.x));
       if (right) bed.b.wait_stream(bed.a);
       bed.launch_add(bed.b, out(bed.y), in(bed.x));
     }},
    {"The ranges of two kernels overlap",
     {"race", "kernel add@a", "kernel add@b"},
     [](Bed& bed, bool right) {
       bed.launch_add(bed.a, inout(bed.y.sub(0, half)), in(bed.x));
       bed.launch_add(bed.b, inout(bed.y.sub(right ? half : half - 256, 1024)), in(bed.x));
     }},
    {"The elements of two kernels overlap",
     {"race", "kernel add@a", "kernel add@b"},
     [](Bed& bed, bool right) {
       const auto elements = bed.y.as<std::uint32_t>();
       bed.launch_add(bed.a, out(elements.first(64)), in(bed.x));
       bed.launch_add(bed.b, out(elements.subspan(right ? 64 : 63, 64)), in(bed.x));
     }},
    {"A kernel reads what a fill writes",
     {"race", "fill@a", "kernel add@b"},
     [](Bed& bed, bool right) {
       bed.fill(bed.a, bed.x);
       if (right) bed.b.wait_stream(bed.a);
       bed.launch_add(bed.b, out(bed.y), in(bed.x));
     }},
    {"A kernel's result is copied before it is there",
     {"race", "kernel add@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.launch_add(bed.a, out(bed.y), in(bed.x));
       if (right) bed.b.wait_event(bed.a.record_event());
       bed.b.copy(bed.pinned, bed.y);
     }},
    {"A kernel's input is overwritten",
     {"race", "kernel add@a", "copy_to_device@b"},
     [](Bed& bed, bool right) {
       bed.launch_add(bed.a, out(bed.y), in(bed.x));
       if (right) bed.b.wait_event(bed.a.record_event());
       bed.b.copy(bed.x, bed.pinned);
     }},
    {"A kernel that only reads its argument isn't in the way of a copy from it",
     {"race", "kernel add@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       bed.launch_add(bed.a, out(bed.y), in(bed.x));
       bed.b.copy(bed.pinned, right ? bed.x : bed.y);
     }},
    {"A kernel follows an address",
     {"race", "kernel add@a", "fill@b"},
     [](Bed& bed, bool right) {
       const auto* const address = reinterpret_cast<const std::uint32_t*>(bed.x.address());
       bed.launch_add(bed.a, out(bed.y), address);
       if (right) bed.b.wait_stream(bed.a);
       bed.fill(bed.b, bed.x);
     }},
    {"Arguments that are made at run time are read and written",
     {"race", "kernel add@a", "fill@b"},
     [](Bed& bed, bool right) {
       const std::uint64_t to = bed.y.address(), from = bed.x.address();
       const std::uint32_t count = 64;
       const std::vector<LaunchArgument> arguments{{LaunchArgument::Kind::address, sizeof(to), &to},
                                                   {LaunchArgument::Kind::address, sizeof(from), &from},
                                                   {LaunchArgument::Kind::value, sizeof(count), &count}};
       bed.a.launch_arguments(bed.add, {1, 64}, arguments);
       if (right) bed.b.wait_stream(bed.a);
       bed.fill(bed.b, bed.x);
     }},
    {"What a refused launch declared doesn't count for the next one",
     {"race", "kernel add@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       try {
         bed.a.launch(bed.add, {0, 64}, in(bed.y), in(bed.x), std::uint32_t{64});
       } catch (const Error&) {
         // A grid of no blocks is refused.
       }
       bed.launch_add(bed.a, bed.y, in(bed.x));
       if (right) bed.b.wait_stream(bed.a);
       bed.b.copy(bed.pinned, bed.y);
     }},
    {"A kernel writes pinned memory that the host reads",
     {"race", "kernel add@a", "host read"},
     [](Bed& bed, bool right) {
       auto* const address = bed.pinned.as<std::uint32_t>().data();
       bed.launch_add(bed.a, address, in(bed.x));
       if (right) bed.a.synchronize();
       host_read(bed.pinned.data(), 256);
       bed.a.synchronize();
     }},
};

}  // namespace
}  // namespace kernels

std::span<const Program> kernel_programs() { return kernels::programs; }

}  // namespace races
