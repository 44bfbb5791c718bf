// SPDX-License-Identifier: Apache-2.0
// Mutations of what collectives rest on: copies between devices, in lines, and waits for other devices' events.
#include <cstring>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

constexpr uint64_t ranks_bytes = 80'044;  // of what only the communicators' cases move at once
constexpr uint32_t between = ANYPLACE_COPY_DEVICE_TO_DEVICE;
constexpr uint64_t large_enough = 64 << 10;  // of what only the collectives' cases move at once

const std::vector<Mutation> mutations = {
    {"collectives_peer_copy_short", "a copy of more than 64 KiB between devices lacks its last four bytes",
     "collectives: an array is broadcast to a second device",
     [](Table& table) {
       table.memory_copy_peer = [](void* self, anyplace_stream stream, int32_t to_device, anyplace_address to,
                                   int32_t from_device, anyplace_address from, uint64_t bytes) {
         const uint64_t copied = bytes > large_enough ? bytes - 4 : bytes;
         return real.memory_copy_peer(self, stream, to_device, to, from_device, from, copied);
       };
     }},
    {"collectives_pitch_ignored", "lines are copied one behind the other, whatever the destination's pitch",
     "collectives: an array that was scattered on one device is gathered again",
     [](Table& table) {
       table.memory_copy_2d = [](void* self, anyplace_stream stream, const anyplace_copy_2d* copy) {
         anyplace_copy_2d dense = *copy;
         dense.destination_pitch = dense.width;
         return real.memory_copy_2d(self, stream, &dense);
       };
     }},
    {"collectives_waits_ignored", "a stream waits for no event of another device",
     "collectives: a broadcast to a second device waits for the source's stream, whose later work waits for the "
     "broadcast",
     [](Table& table) {
       note_streams(table);
       static Notes<anyplace_event, int32_t> devices;
       table.event_create = [](void* self, int32_t device, const anyplace_event_desc* desc, anyplace_event* out) {
         const Status status = real.event_create(self, device, desc, out);
         if (status == ok) devices.set(*out, device);
         return status;
       };
       table.stream_wait_event = [](void* self, anyplace_stream stream, anyplace_event event) {
         const bool elsewhere = devices.get(event) != streams.get(stream).device;
         return elsewhere ? ok : real.stream_wait_event(self, stream, event);
       };
     }},
    {"collectives_argument_twice", "the third of twelve arguments of a launch is the second",
     "collectives: arrays of two devices are added on either",
     [](Table& table) {
       table.kernel_launch = [](void* self, anyplace_stream stream, anyplace_kernel kernel,
                                const anyplace_launch* launch) {
         if (launch->argument_count != 12) return real.kernel_launch(self, stream, kernel, launch);
         std::vector<anyplace_argument> arguments;
         const auto* const first = reinterpret_cast<const char*>(launch->arguments);
         for (uint32_t i = 0; i < launch->argument_count; ++i) {
           arguments.push_back(*reinterpret_cast<const anyplace_argument*>(first + i * launch->argument_stride));
         }
         arguments[2] = arguments[1];
         anyplace_launch changed = *launch;
         changed.arguments = arguments.data();
         changed.argument_stride = sizeof(anyplace_argument);
         return real.kernel_launch(self, stream, kernel, &changed);
       };
     }},
    {"collectives_copy_of_one_size_short", "a copy of 80,044 bytes lacks its last four",
     "collectives: each operation of a rank that is alone gives it its own values",
     [](Table& table) {
       table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address to, anyplace_address from,
                              uint64_t bytes, uint32_t kind) {
         return real.memory_copy(self, stream, to, from, bytes == ranks_bytes && kind == between ? bytes - 4 : bytes,
                                 kind);
       };
     }},
    {"collectives_copy_of_one_size_early", "a copy of 80,044 bytes doesn't wait for its stream",
     "collectives: an operation of a communicator comes after its stream's earlier work, and before its later work",
     [](Table& table) {
       table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address to, anyplace_address from,
                              uint64_t bytes, uint32_t kind) {
         if (bytes != ranks_bytes || kind != between) return real.memory_copy(self, stream, to, from, bytes, kind);
         std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
         return ok;
       };
     }},
    {"collectives_peer_access_kept_off", "peer access is enabled, and isn't",
     "collectives: arrays of two devices are added on either",
     [](Table& table) { table.peer_enable = [](void*, int32_t, int32_t) { return ok; }; }},
};

}  // namespace

std::span<const Mutation> collective_mutations() noexcept { return mutations; }

}  // namespace anyplace::mutants
