// SPDX-License-Identifier: Apache-2.0
// Mutations of what a backend tells (clocks, kernels, variables, handles) and of what it does with the host's memory.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

std::byte* pointer(anyplace_address address) { return reinterpret_cast<std::byte*>(address); }

const Mutation all_of_facts[] = {
    // -- The host's memory.
    {"host_copy_at_submission", "a copy between memory of the host runs when it is submitted",
     "addresses: a copy of the host's memory comes after earlier work and before later",
     [](Table& table) {
       table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address to, anyplace_address from,
                              uint64_t bytes, uint32_t kind) {
         if (kind != ANYPLACE_COPY_HOST_TO_HOST) return real.memory_copy(self, stream, to, from, bytes, kind);
         std::memcpy(pointer(to), pointer(from), bytes);
         return ok;
       };
     }},
    {"host_copy_first_mebibyte", "only the first MiB of a copy between memory of the host arrives",
     "addresses: 5 MiB and a byte from host to host arrive whole and nothing beside them",
     [](Table& table) {
       table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address to, anyplace_address from,
                              uint64_t bytes, uint32_t kind) {
         const bool host = kind == ANYPLACE_COPY_HOST_TO_HOST;
         return real.memory_copy(self, stream, to, from, host ? std::min<uint64_t>(bytes, 1 << 20) : bytes, kind);
       };
     }},
    {"host_copy_unknown", "copies between memory of the host are claimed, and refused",
     "addresses: 257 bytes from host to host arrive whole and nothing beside them",
     [](Table& table) {
       table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address to, anyplace_address from,
                              uint64_t bytes, uint32_t kind) {
         if (kind == ANYPLACE_COPY_HOST_TO_HOST) return Status{ANYPLACE_STATUS_INVALID_ARGUMENT};
         return real.memory_copy(self, stream, to, from, bytes, kind);
       };
     }},
    {"host_lines_touch", "lines of the host's memory are written one behind the other",
     "addresses: lines of the host's memory are copied",
     [](Table& table) {
       table.memory_copy_2d = [](void* self, anyplace_stream stream, const anyplace_copy_2d* copy) {
         anyplace_copy_2d wrong = *copy;
         if (copy->kind == ANYPLACE_COPY_HOST_TO_HOST) wrong.destination_pitch = copy->width;
         return real.memory_copy_2d(self, stream, &wrong);
       };
     }},

    // -- Clocks.
    {"timestamp_in_microseconds", "an event's timestamp is in microseconds",
     "clocks: a timestamp lies between readings of the device's clock",
     [](Table& table) {
       table.event_timestamp = [](void* self, anyplace_event event, uint64_t* ns) {
         const Status status = real.event_timestamp(self, event, ns);
         if (status == ok) *ns /= 1000;
         return status;
       };
     }},
    {"timestamp_of_the_question", "an event's timestamp is when it is asked for",
     "clocks: timestamps are as far apart as the time between their events",
     [](Table& table) {
       table.event_timestamp = [](void* self, anyplace_event event, uint64_t* ns) {
         const Status status = real.event_timestamp(self, event, ns);
         static std::atomic<uint64_t> asked{0};
         if (status == ok) *ns += asked.fetch_add(1) * 1'000'000;
         return status;
       };
     }},
    {"clock_of_another_time", "the host's side of a reading is the time of day",
     "clocks: the host's side of a reading is its steady clock",
     [](Table& table) {
       table.device_clock = [](void* self, int32_t device, anyplace_clock* out) {
         const Status status = real.device_clock(self, device, out);
         out->host += uint64_t{1'700'000'000} * 1'000'000'000;
         return status;
       };
     }},
    {"clock_runs_ahead", "the device's clock is read a second ahead of its events'",
     "clocks: a timestamp lies between readings of the device's clock",
     [](Table& table) {
       table.device_clock = [](void* self, int32_t device, anyplace_clock* out) {
         const Status status = real.device_clock(self, device, out);
         out->device += 1'000'000'000;
         return status;
       };
     }},

    // -- Modules and kernels.
    {"global_without_its_size", "a variable's size is that of a word",
     "modules: a variable is found by its name, read and written",
     [](Table& table) {
       table.module_global = [](void* self, anyplace_module module, const char* name, anyplace_global* out) {
         const Status status = real.module_global(self, module, name, out);
         if (status == ok) out->bytes = 4;
         return status;
       };
     }},
    {"global_is_a_copy", "a variable is given as a copy of its first contents",
     "modules: a variable is found by its name, read and written",
     [](Table& table) {
       table.module_global = [](void* self, anyplace_module module, const char* name, anyplace_global* out) {
         const Status status = real.module_global(self, module, name, out);
         if (status != ok) return status;
         auto* const copy = new std::byte[out->bytes];
         std::memcpy(copy, pointer(out->address), out->bytes);
         out->address = reinterpret_cast<uintptr_t>(copy);
         return ok;
       };
     }},
    {"global_by_any_name", "an unknown variable is at address 0",
     "modules: a name that no variable has is no_such_global",
     [](Table& table) {
       table.module_global = [](void* self, anyplace_module module, const char* name, anyplace_global* out) {
         static_cast<void>(real.module_global(self, module, name, out));
         return ok;
       };
     }},
    {"kernel_larger_than_device", "a kernel's blocks may be larger than the device's",
     "modules: a kernel's attributes are within what the device has",
     [](Table& table) {
       table.kernel_attributes = [](void* self, anyplace_kernel kernel, anyplace_kernel_attributes* out) {
         const Status status = real.kernel_attributes(self, kernel, out);
         out->max_threads_per_block *= 2;
         return status;
       };
     }},
    {"occupancy_of_none", "no block of a kernel runs at the same time as any",
     "modules: so many blocks of a kernel run on a multiprocessor, and no more as they grow",
     [](Table& table) {
       table.kernel_occupancy = [](void*, anyplace_kernel, uint32_t, uint64_t, uint32_t* blocks) {
         *blocks = 0;
         return ok;
       };
     }},
    {"kernel_handle_of_its_module", "every kernel's native handle is the same",
     "modules: the vendor's handles of a module and of its kernels are given",
     [](Table& table) {
       table.kernel_native = [](void*, anyplace_kernel, uint64_t* native) {
         *native = 7;
         return ok;
       };
     }},
};

}  // namespace

std::span<const Mutation> fact_mutations() noexcept { return all_of_facts; }

}  // namespace anyplace::mutants
