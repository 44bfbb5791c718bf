// SPDX-License-Identifier: Apache-2.0
// Mutations that are right but at the ends of a range: times, sizes, numbers of elements, arguments of a launch.
#include <algorithm>
#include <cstring>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

/// A time that became a number with a sign.
uint64_t with_sign(uint64_t timeout) { return timeout > INT64_MAX && timeout != ANYPLACE_FOREVER ? 0 : timeout; }
/// A time that something was added to.
uint64_t with_more(uint64_t timeout) { return timeout == ANYPLACE_FOREVER ? timeout : timeout + 1000; }
/// A time in seconds of 32 bits.
uint64_t in_seconds(uint64_t timeout) {
  return timeout == ANYPLACE_FOREVER ? timeout : static_cast<uint32_t>(timeout / 1000000000u) * uint64_t{1000000000};
}
/// None is without end.
uint64_t none_is_all(uint64_t timeout) { return timeout == 0 ? ANYPLACE_FOREVER : timeout; }

template <uint64_t (*Change)(uint64_t)>
void change_stream_time(Table& table) {
  table.stream_synchronize = [](void* self, anyplace_stream stream, uint64_t timeout) {
    return real.stream_synchronize(self, stream, Change(timeout));
  };
}
template <uint64_t (*Change)(uint64_t)>
void change_event_time(Table& table) {
  table.event_synchronize = [](void* self, anyplace_event event, uint64_t timeout) {
    return real.event_synchronize(self, event, Change(timeout));
  };
}
template <uint64_t (*Change)(uint64_t)>
void change_device_time(Table& table) {
  table.device_synchronize = [](void* self, int32_t device, uint64_t timeout) {
    return real.device_synchronize(self, device, Change(timeout));
  };
}

/// To a multiple of 256, by adding first.
uint64_t rounded(uint64_t bytes) { return std::max<uint64_t>((bytes + 255) / 256 * 256, 256); }

const Mutation mutations[] = {
    {"stream_time_signed", "a stream's time is taken for a number with a sign",
     "limits: a timeout of 2^63 nanoseconds doesn't run out while work takes a while", change_stream_time<with_sign>},
    {"stream_time_added", "something is added to a stream's time without looking",
     "limits: a timeout of 2^64 - 2 nanoseconds doesn't run out while work takes a while",
     change_stream_time<with_more>},
    {"event_time_signed", "an event's time is taken for a number with a sign",
     "limits: a timeout of 2^63 nanoseconds doesn't run out while work takes a while", change_event_time<with_sign>},
    {"event_time_in_seconds", "an event's time is counted in whole seconds of 32 bits",
     "limits: a timeout of 2^32 seconds doesn't run out while work takes a while", change_event_time<in_seconds>},
    {"device_time_added", "something is added to a device's time without looking",
     "limits: a timeout of 2^64 - 2 nanoseconds doesn't run out while work takes a while",
     change_device_time<with_more>},
    {"no_time_is_all_time", "no time at all is taken for no limit",
     "limits: a timeout of no nanoseconds runs out, and is OK where there is nothing to wait for",
     change_event_time<none_is_all>},
    {"no_time_is_all_time_of_a_device", "no time at all is taken for no limit of a device",
     "limits: a timeout of no nanoseconds runs out, and is OK where there is nothing to wait for",
     change_device_time<none_is_all>},
    {"size_wraps_around", "a size is rounded up past 2^64",
     "limits: an allocation of device memory succeeds or is OUT_OF_MEMORY, whatever its size",
     [](Table& table) {
       table.memory_allocate = [](void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
         return real.memory_allocate(self, device, kind, kind == ANYPLACE_MEMORY_DEVICE ? rounded(bytes) : bytes, out);
       };
     }},
    {"pinned_size_wraps_around", "a size of pinned memory is rounded up past 2^64",
     "limits: an allocation of pinned memory succeeds or is OUT_OF_MEMORY, whatever its size",
     [](Table& table) {
       table.memory_allocate = [](void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
         return real.memory_allocate(self, device, kind, kind == ANYPLACE_MEMORY_PINNED ? rounded(bytes) : bytes, out);
       };
     }},
    {"managed_size_misreported", "too much managed memory is reported as a bad argument",
     "limits: an allocation of managed memory succeeds or is OUT_OF_MEMORY, whatever its size",
     [](Table& table) {
       table.memory_allocate = [](void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
         if (kind == ANYPLACE_MEMORY_MANAGED && bytes > (uint64_t{1} << 63)) {
           return Status{ANYPLACE_STATUS_INVALID_ARGUMENT};
         }
         return real.memory_allocate(self, device, kind, bytes, out);
       };
     }},
    {"ordered_size_wraps_around", "a size of memory in a stream's order is rounded up past 2^64",
     "limits: an allocation of memory in a stream's order succeeds or is OUT_OF_MEMORY, whatever its size",
     [](Table& table) {
       table.memory_allocate_async = [](void* self, anyplace_stream stream, uint64_t bytes, anyplace_address* out) {
         return real.memory_allocate_async(self, stream, rounded(bytes), out);
       };
     }},
    {"unknown_kind_accepted", "memory of any kind is device memory",
     "limits: a kind of memory that the device doesn't claim is UNSUPPORTED",
     [](Table& table) {
       table.memory_allocate = [](void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
         return real.memory_allocate(self, device, kind > 3 ? uint32_t{1} : kind, bytes, out);
       };
     }},
    {"fill_count_cut", "the number of elements of a fill has 32 bits",
     "limits: a fill of more than 4 GiB of elements of 8 bits reaches its end",
     [](Table& table) {
       table.memory_set = [](void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                             uint32_t width, uint64_t count) {
         return real.memory_set(self, stream, address, value, width, static_cast<uint32_t>(count));
       };
     }},
    {"fill_bytes_cut", "the bytes of a fill have 32 bits",
     "limits: a fill of more than 4 GiB of elements of 32 bits reaches its end",
     [](Table& table) {
       table.memory_set = [](void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                             uint32_t width, uint64_t count) {
         const uint64_t bytes = std::min<uint64_t>(count * width, UINT32_MAX);
         return real.memory_set(self, stream, address, value, width, bytes / width);
       };
     }},
    {"copy_bytes_cut", "the bytes of a copy have 32 bits",
     "limits: a copy of more than 4 GiB on one device reaches its end",
     [](Table& table) {
       table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address destination, anyplace_address source,
                              uint64_t bytes, uint32_t kind) {
         return real.memory_copy(self, stream, destination, source, std::min<uint64_t>(bytes, UINT32_MAX), kind);
       };
     }},
    {"argument_stride_ignored", "arguments of a launch are taken to lie side by side",
     "arguments: a module's arguments may lie 24 bytes apart",
     [](Table& table) {
       table.kernel_launch = [](void* self, anyplace_stream stream, anyplace_kernel kernel,
                                const anyplace_launch* launch) {
         anyplace_launch changed = *launch;
         changed.argument_stride = sizeof(anyplace_argument);
         return real.kernel_launch(self, stream, kernel, &changed);
       };
     }},
    {"argument_count_ignored", "a launch with arguments that don't fit is dropped without a word",
     "arguments: arguments of another number or size than the kernel's are invalid_argument",
     [](Table& table) {
       table.kernel_launch = [](void* self, anyplace_stream stream, anyplace_kernel kernel,
                                const anyplace_launch* launch) {
         const Status status = real.kernel_launch(self, stream, kernel, launch);
         return status == ANYPLACE_STATUS_INVALID_ARGUMENT ? ok : status;
       };
     }},
    {"argument_size_misreported", "arguments that don't fit are reported as a failed call",
     "arguments: arguments of another number or size than the kernel's are invalid_argument",
     [](Table& table) {
       table.kernel_launch = [](void* self, anyplace_stream stream, anyplace_kernel kernel,
                                const anyplace_launch* launch) {
         const Status status = real.kernel_launch(self, stream, kernel, launch);
         return status == ANYPLACE_STATUS_INVALID_ARGUMENT ? Status{ANYPLACE_STATUS_BACKEND_FAILED} : status;
       };
     }},
    {"arguments_at_most_16", "a launch takes at most 16 arguments",
     "arguments: a host kernel may have no arguments, and as many as a C++ function can",
     [](Table& table) {
       table.kernel_launch = [](void* self, anyplace_stream stream, anyplace_kernel kernel,
                                const anyplace_launch* launch) {
         anyplace_launch changed = *launch;
         changed.argument_count = std::min(changed.argument_count, 16u);
         return real.kernel_launch(self, stream, kernel, &changed);
       };
     }},
    {"images_of_one_size_shared", "an image of the size of another is taken for that",
     "arguments: two images whose kernels have one name are loaded at once, and each runs its own",
     [](Table& table) {
       table.module_load = [](void* self, int32_t device, const anyplace_module_desc* desc, anyplace_module* out) {
         static Notes<uint64_t, anyplace_module> loaded;
         *out = loaded.get(desc->image_bytes);
         if (*out != 0) return ok;
         const Status status = real.module_load(self, device, desc, out);
         if (status == ok) loaded.set(desc->image_bytes, *out);
         return status;
       };
     }},
};

}  // namespace

std::span<const Mutation> limit_mutations() noexcept { return mutations; }

}  // namespace anyplace::mutants
