// SPDX-License-Identifier: Apache-2.0
// Mutations of what a backend tells (clocks, kernels, variables, handles) and of what it does with the host's memory.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

std::byte* pointer(anyplace_address address) { return reinterpret_cast<std::byte*>(address); }

// -- What a device says of itself.

/// Alters what cpu_sim says of a device, and gives as much of it as the caller has room for.
template <void (*Alter)(anyplace_device_properties& facts)>
void alter_facts(Table& table) {
  table.device_properties = [](void* self, int32_t device, anyplace_device_properties* out) {
    anyplace_device_properties whole{};
    whole.struct_size = sizeof(whole);
    const Status status = real.device_properties(self, device, &whole);
    Alter(whole);
    whole.struct_size = std::min<uint32_t>(out->struct_size, sizeof(whole));
    std::memcpy(out, &whole, whole.struct_size);
    return status;
  };
}

constexpr const char* agree = "facts: a device knows each feature that it has, and no bits are unknown";
constexpr const char* not_zero = "facts: figures that can't be 0 aren't 0, and the range of priorities contains 0";
constexpr const char* the_same =
    "facts: a device's properties are the same each time, on every thread, before and after work";
constexpr const char* largest_of_modules = "facts: a module's kernel runs in the largest blocks and grids";
constexpr const char* largest_of_host = "facts: a host kernel runs in the largest blocks and grids";
constexpr const char* sub_groups =
    "facts: a kernel's sub-groups are of a size that the device has, and fit into a block";
constexpr const char* total_is_there = "facts: the total memory can be allocated, but for what is in use";
constexpr const char* one_allocation =
    "facts: one allocation may be as large as the device says, if so much is free, and none is larger";

void double_total(anyplace_device_properties& facts) { facts.total_memory *= 2; }
void half_of_total(anyplace_device_properties& facts) { facts.max_allocation = facts.total_memory / 2; }
thread_local bool has_stream = false;
void count_for_thread(anyplace_device_properties& facts) { facts.multiprocessors = has_stream ? 7 : 8; }

/// The memory of two devices, whose nth allocations have one address.
anyplace_address shared_address(void* self, int32_t device, uint64_t bytes) {
  static std::array<std::atomic<anyplace_address>, 16> first;
  static std::array<std::atomic<size_t>, 2> next;
  const size_t i = next.at(static_cast<size_t>(device) % 2)++;
  if (device == 1 && i < first.size() && first[i] != 0) return first[i];
  anyplace_address address = 0;
  real.memory_allocate(self, 0, ANYPLACE_MEMORY_DEVICE, bytes, &address);
  if (device == 0 && i < first.size()) first[i] = address;
  return address;
}

const Mutation facts_of_devices[] = {
    {"feature_not_known", "a device has a feature of which it can't tell whether it has it", agree,
     alter_facts<+[](anyplace_device_properties& facts) {
       facts.features |= ANYPLACE_FEATURE_FLOAT16, facts.features_known = 0;
     }>},
    {"feature_of_nothing", "a bit that is no feature is known", agree,
     alter_facts<+[](anyplace_device_properties& facts) { facts.features_known |= 1u << 20; }>},
    {"format_of_nothing", "a device takes images of a format that there isn't", agree,
     alter_facts<+[](anyplace_device_properties& facts) { facts.image_formats |= 1; }>},
    {"no_compute_units", "no block runs at the same time as any", not_zero,
     alter_facts<+[](anyplace_device_properties& facts) { facts.compute_units = 0; }>},
    {"no_threads_in_a_block", "a block has no threads", not_zero,
     alter_facts<+[](anyplace_device_properties& facts) { facts.max_threads_per_block = 0; }>},
    {"priorities_above_default", "the least priority is above the default", not_zero,
     alter_facts<+[](anyplace_device_properties& facts) { facts.least_priority = -1; }>},
    {"clock_in_kilohertz", "a clock is told in kHz", not_zero,
     alter_facts<+[](anyplace_device_properties& facts) { facts.clock_hz = 1980000; }>},
    {"allocation_above_total", "one allocation may be larger than the memory", not_zero,
     alter_facts<+[](anyplace_device_properties& facts) { facts.max_allocation = 2 * facts.total_memory; }>},
    {"facts_written_too_far", "facts are written past the end of the caller's struct",
     "facts: a caller's shorter struct of properties is filled up to its size",
     [](Table& table) {
       table.device_properties = [](void* self, int32_t device, anyplace_device_properties* out) {
         out->struct_size = sizeof(*out);
         return real.device_properties(self, device, out);
       };
     }},
    {"facts_of_a_used_device", "less memory is there in all once some is allocated", the_same,
     alter_facts<+[](anyplace_device_properties& facts) {
       anyplace_memory_info memory{};
       memory.struct_size = sizeof(memory);
       real.device_memory(real.self, 0, &memory);
       facts.total_memory = facts.max_allocation = memory.free_bytes;
     }>},
    {"facts_of_the_thread", "a thread that has made no stream is told of another number of multiprocessors", the_same,
     [](Table& table) {
       table.stream_create = [](void* self, int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
         has_stream = true;
         return real.stream_create(self, device, desc, out);
       };
       alter_facts<count_for_thread>(table);
     }},
    {"blocks_too_high", "blocks are said to be higher than they may be", largest_of_modules,
     alter_facts<+[](anyplace_device_properties& facts) { facts.max_block[2] = 1024; }>},
    {"blocks_too_large", "blocks are said to have more threads than they may have", largest_of_host,
     alter_facts<+[](anyplace_device_properties& facts) { facts.max_threads_per_block = 2048; }>},
    {"grids_too_high", "grids are said to be higher than they may be", largest_of_host,
     alter_facts<+[](anyplace_device_properties& facts) { facts.max_grid[2] = UINT32_MAX; }>},
    {"grid_of_16_bits", "a grid's x is of 16 bits", largest_of_modules,
     [](Table& table) {
       table.kernel_launch = [](void* self, anyplace_stream stream, anyplace_kernel kernel,
                                const anyplace_launch* launch) {
         anyplace_launch wrong = *launch;
         wrong.grid[0] = static_cast<uint16_t>(launch->grid[0]);
         return real.kernel_launch(self, stream, kernel, &wrong);
       };
     }},
    {"shared_memory_overstated", "a block is said to have more shared memory than it can",
     "facts: a module's kernel has as much shared memory as the device says",
     alter_facts<+[](anyplace_device_properties& facts) { facts.max_shared_bytes *= 2; }>},
    {"sub_groups_of_others", "sub-groups are told of a size that kernels don't have", sub_groups,
     alter_facts<+[](anyplace_device_properties& facts) { facts.sub_group_sizes = 32; }>},
    {"sub_groups_above_blocks", "sub-groups are larger than blocks", sub_groups,
     alter_facts<+[](anyplace_device_properties& facts) { facts.sub_group_sizes = 1u | 1u << 16; }>},
    {"sub_group_of_48", "a kernel's sub-groups have 48 threads", sub_groups,
     [](Table& table) {
       table.kernel_attributes = [](void* self, anyplace_kernel kernel, anyplace_kernel_attributes* out) {
         const Status status = real.kernel_attributes(self, kernel, out);
         out->sub_group_size = 48;
         return status;
       };
     }},
    {"total_doubled", "the total memory is twice what there is", total_is_there,
     alter_facts<+[](anyplace_device_properties& facts) { facts.total_memory *= 2; }>},
    {"memory_total_doubled", "the total and what is free are twice what there is", total_is_there,
     [](Table& table) {
       alter_facts<double_total>(table);
       table.device_memory = [](void* self, int32_t device, anyplace_memory_info* out) {
         const Status status = real.device_memory(self, device, out);
         out->total_bytes *= 2;
         out->free_bytes *= 2;
         return status;
       };
     }},
    {"free_doubled", "twice as much is said to be free",
     "facts: nearly all memory that is said to be free can be allocated",
     [](Table& table) {
       table.device_memory = [](void* self, int32_t device, anyplace_memory_info* out) {
         const Status status = real.device_memory(self, device, out);
         out->free_bytes *= 2;
         return status;
       };
     }},
    {"allocation_understated", "one allocation may be larger than is said", one_allocation,
     alter_facts<+[](anyplace_device_properties& facts) { facts.max_allocation = 1 << 20; }>},
    {"allocation_overstated", "no allocation is as large as is said", one_allocation,
     [](Table& table) {
       alter_facts<half_of_total>(table);
       table.memory_allocate = [](void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
         if (bytes > (uint64_t{256} << 20)) return Status{ANYPLACE_STATUS_OUT_OF_MEMORY};
         return real.memory_allocate(self, device, kind, bytes, out);
       };
     }},
    {"allocation_misreported", "more than one allocation may be is a bad argument", one_allocation,
     [](Table& table) {
       table.memory_allocate = [](void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
         const Status status = real.memory_allocate(self, device, kind, bytes, out);
         return status == ANYPLACE_STATUS_OUT_OF_MEMORY ? Status{ANYPLACE_STATUS_INVALID_ARGUMENT} : status;
       };
     }},
    {"addresses_not_unified", "two devices have the same addresses",
     "facts: with unified addressing no address belongs to two devices, or to a device and the host",
     [](Table& table) {
       table.memory_allocate = [](void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
         if (kind != ANYPLACE_MEMORY_DEVICE) return real.memory_allocate(self, device, kind, bytes, out);
         *out = shared_address(self, device, bytes);
         return ok;
       };
     }},
};

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
     "addresses: 5 MiB and a byte from host to host arrive whole, and nothing beside them is written",
     [](Table& table) {
       table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address to, anyplace_address from,
                              uint64_t bytes, uint32_t kind) {
         const bool host = kind == ANYPLACE_COPY_HOST_TO_HOST;
         return real.memory_copy(self, stream, to, from, host ? std::min<uint64_t>(bytes, 1 << 20) : bytes, kind);
       };
     }},
    {"host_copy_unknown", "copies between memory of the host are claimed, and refused",
     "addresses: 257 bytes from host to host arrive whole, and nothing beside them is written",
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
     "clocks: the host's part of a clock reading is CLOCK_MONOTONIC",
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
     "modules: a multiprocessor runs at least one block of a kernel, and no more blocks as they grow",
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

std::span<const Mutation> fact_mutations() noexcept {
  static const std::vector<Mutation> all = [] {
    std::vector<Mutation> both(std::begin(all_of_facts), std::end(all_of_facts));
    both.insert(both.end(), std::begin(facts_of_devices), std::end(facts_of_devices));
    return both;
  }();
  return all;
}

}  // namespace anyplace::mutants
