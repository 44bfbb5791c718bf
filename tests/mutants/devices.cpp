// SPDX-License-Identifier: Apache-2.0
// Mutations of what a device says of itself: the table, counts, properties, capabilities, peers.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

/// Alters what every device says of itself.
template <void (*Alter)(int32_t device, anyplace_device_properties& properties)>
void alter_properties(Table& table) {
  table.device_properties = [](void* self, int32_t device, anyplace_device_properties* out) {
    const Status status = real.device_properties(self, device, out);
    if (status == ok) Alter(device, *out);
    return status;
  };
}

void claim_interprocess_events(int32_t, anyplace_device_properties& properties) {
  properties.capabilities |= uint64_t{1} << ANYPLACE_CAPABILITY_BIT_INTERPROCESS_EVENTS;
}
void claim_reset(int32_t, anyplace_device_properties& properties) {
  properties.capabilities |= uint64_t{1} << ANYPLACE_CAPABILITY_BIT_DEVICE_RESET;
}

/// What cpu_sim lists, changed by Alter, and given as the table has to.
template <void (*Alter)(std::vector<anyplace_process>& processes)>
void alter_processes(Table& table) {
  table.list_processes = [](void* self, int32_t device, anyplace_process* out, uint32_t stride, uint32_t* count) {
    std::vector<anyplace_process> all(1);
    uint32_t all_count = 1;
    const Status status = real.list_processes(self, device, all.data(), sizeof(anyplace_process), &all_count);
    Alter(all);
    for (size_t i = 0; i < all.size() && i < *count; ++i) {
      std::memcpy(reinterpret_cast<char*>(out) + i * stride, &all[i], std::min<size_t>(stride, sizeof(all[i])));
    }
    *count = static_cast<uint32_t>(all.size());
    return status;
  };
}

/// A process that is no more.
uint64_t ended_process() {
  static const pid_t id = [] {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    return child;
  }();
  return static_cast<uint64_t>(id);
}

const Mutation mutations[] = {
    // -- The table.
    {"table_too_small", "the table says that it has fewer bytes than version 1.0", "refused: at least",
     [](Table& table) { table.struct_size = offsetof(Table, virtual_granularity) - 8; }},
    {"table_too_large", "the table says that more bytes were filled than there are", "refused: it was given",
     [](Table& table) { table.struct_size += 8; }},
    {"table_of_no_size", "the table says that nothing was filled", "refused: at least",
     [](Table& table) { table.struct_size = 0; }},
    {"table_of_another_major", "the table is of another major version", "refused: it was built for ABI",
     [](Table& table) { ++table.abi_major; }},
    {"table_of_another_name", "the table says another name than the file", "refused: its table says that its name is",
     [](Table& table) { std::strcpy(table.name, "cpu_sim"); }},
    {"entry_missing", "an entry that every backend has is null", "refused: its table lacks the entry stream_wait_event",
     [](Table& table) { table.stream_wait_event = nullptr; }},
    {"entry_missing_of_several", "of entries that belong together one is null", "refused: without gate_open",
     [](Table& table) { table.gate_open = nullptr; }},
    {"capability_without_entry", "a capability is claimed whose entry is null", "refused: lacks the entry",
     [](Table& table) { table.memory_copy_2d = nullptr; }},
    {"negative_device_count", "there are -1 devices", "refused: -1",
     [](Table& table) {
       table.device_count = [](void*, int32_t* count) {
         *count = -1;
         return ok;
       };
     }},

    // -- Devices.
    {"one_device_too_many", "there is one device less than the backend says",
     "devices: every device that is counted exists, in order",
     [](Table& table) {
       table.device_count = [](void* self, int32_t* count) {
         const Status status = real.device_count(self, count);
         ++*count;
         return status;
       };
     }},
    {"name_missing", "a device has no name", "devices: a device has a name",
     alter_properties<+[](int32_t, anyplace_device_properties& properties) { properties.name[0] = '\0'; }>},
    {"uuid_shared", "all devices have one uuid", "devices: two devices have different uuids and pci addresses",
     alter_properties<+[](int32_t, anyplace_device_properties& properties) { std::strcpy(properties.uuid, "SIM"); }>},
    {"pci_address_shared", "all devices have one pci address",
     "devices: two devices have different uuids and pci addresses",
     alter_properties<+[](int32_t, anyplace_device_properties& properties) {
       std::strcpy(properties.pci, "0000:00:00.0");
     }>},
    {"alignment_too_small", "allocations are aligned to 64 bytes",
     "devices: the alignment of allocations is a power of two from 256 on",
     alter_properties<+[](int32_t, anyplace_device_properties& properties) { properties.address_alignment = 64; }>},
    {"total_memory_zero", "a device says that it has no memory", "devices: the total memory is above 0 or unknown",
     alter_properties<+[](int32_t, anyplace_device_properties& properties) { properties.total_memory = 0; }>},
    {"total_memory_too_small", "a device says that it has less memory than it gives",
     "memory: the total is no more than the device's memory",
     alter_properties<+[](int32_t, anyplace_device_properties& properties) { properties.total_memory /= 2; }>},
    {"no_limits", "a device that launches kernels takes no block",
     "devices: a device that launches kernels has limits that allow one thread",
     alter_properties<+[](int32_t, anyplace_device_properties& properties) { properties.max_grid[1] = 0; }>},
    {"no_image_format", "a device that takes modules takes no format",
     "devices: a device that takes modules names a format",
     alter_properties<+[](int32_t, anyplace_device_properties& properties) { properties.image_formats = 0; }>},
    {"properties_not_filled", "properties aren't written", "devices: a device has a name",
     [](Table& table) { table.device_properties = [](void*, int32_t, anyplace_device_properties*) { return ok; }; }},
    {"priority_range_reversed", "the ends of the range of priorities are swapped",
     "capabilities: priorities: claimed with a range",
     alter_properties<+[](int32_t, anyplace_device_properties& properties) {
       std::swap(properties.least_priority, properties.greatest_priority);
     }>},

    // -- Capabilities that are claimed and absent.
    {"timed_events_absent", "events are said to measure time, and don't",
     "capabilities: timed_events: claimed and works, or refused",
     [](Table& table) {
       table.event_elapsed = [](void*, anyplace_event, anyplace_event, double*) {
         return Status{ANYPLACE_STATUS_UNSUPPORTED};
       };
     }},
    {"blocking_streams_absent", "blocking streams are claimed and refused",
     "capabilities: blocking_streams: claimed and works, or refused",
     [](Table& table) {
       table.stream_create = [](void* self, int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
         if ((desc->flags & ANYPLACE_STREAM_BLOCKING) != 0) return Status{ANYPLACE_STATUS_UNSUPPORTED};
         return real.stream_create(self, device, desc, out);
       };
     }},
    {"host_functions_absent", "host functions are claimed and refused",
     "capabilities: host_functions: claimed and works, or refused",
     [](Table& table) {
       table.stream_host_function = [](void*, anyplace_stream, anyplace_host_function, void*) {
         return Status{ANYPLACE_STATUS_UNSUPPORTED};
       };
     }},
    {"managed_memory_absent", "managed memory is claimed and refused",
     "capabilities: managed_memory: claimed and works, or refused",
     [](Table& table) {
       table.memory_allocate = [](void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
         if (kind == ANYPLACE_MEMORY_MANAGED) return Status{ANYPLACE_STATUS_UNSUPPORTED};
         return real.memory_allocate(self, device, kind, bytes, out);
       };
     }},
    {"copy_2d_absent", "pitched copies are claimed and refused", "capabilities: copy_2d: pitched copies are right",
     [](Table& table) {
       table.memory_copy_2d = [](void*, anyplace_stream, const anyplace_copy_2d*) {
         return Status{ANYPLACE_STATUS_UNSUPPORTED};
       };
     }},
    {"host_kernels_absent", "kernels of this process are claimed and refused",
     "capabilities: host_kernels: claimed and works, or refused",
     [](Table& table) {
       table.kernel_from_host = [](void*, int32_t, anyplace_host_kernel, void*, void (*)(void*), anyplace_kernel*) {
         return Status{ANYPLACE_STATUS_UNSUPPORTED};
       };
     }},
    {"list_processes_absent", "listing processes is claimed and refused",
     "capabilities: list_processes: claimed and works, or refused",
     [](Table& table) {
       table.list_processes = [](void*, int32_t, anyplace_process*, uint32_t, uint32_t*) {
         return Status{ANYPLACE_STATUS_UNSUPPORTED};
       };
     }},
    {"interprocess_events_absent", "events for several processes are claimed and refused",
     "capabilities: interprocess_events: claimed and works, or refused",
     [](Table& table) {
       alter_properties<claim_interprocess_events>(table);
       table.event_create = [](void* self, int32_t device, const anyplace_event_desc* desc, anyplace_event* out) {
         if ((desc->flags & ANYPLACE_EVENT_INTERPROCESS) != 0) return Status{ANYPLACE_STATUS_UNSUPPORTED};
         return real.event_create(self, device, desc, out);
       };
     }},
    {"device_reset_absent", "resetting a device is claimed and refused",
     "capabilities: device_reset: claimed and works, or refused",
     [](Table& table) {
       alter_properties<claim_reset>(table);
       table.device_reset = [](void*, int32_t) { return Status{ANYPLACE_STATUS_UNSUPPORTED}; };
     }},

    // -- Peers and native handles.
    {"peer_enabled_once", "enabling peer access twice fails", "devices: enabling peer access twice is fine",
     [](Table& table) {
       table.peer_enable = [](void* self, int32_t device, int32_t peer) {
         static std::atomic<bool> enabled{false};
         if (enabled.exchange(true)) return Status{ANYPLACE_STATUS_INVALID_ARGUMENT};
         return real.peer_enable(self, device, peer);
       };
     }},
    {"peer_disable_strict", "disabling what isn't enabled fails",
     "devices: disabling peer access that isn't enabled is fine",
     [](Table& table) {
       table.peer_disable = [](void*, int32_t, int32_t) { return Status{ANYPLACE_STATUS_INVALID_ARGUMENT}; };
     }},
    {"peer_crashes", "asking about a peer crashes", "devices: whether a device reaches its peer can be asked",
     [](Table& table) { table.peer_query = [](void*, int32_t, int32_t, int32_t*) -> Status { std::abort(); }; }},
    {"device_handle_changes", "a device's native handle is another one each time",
     "devices: the device's native handle is the same each time",
     [](Table& table) {
       table.device_native = [](void*, int32_t, uint32_t, uint64_t* native) {
         static std::atomic<uint64_t> last{1};
         *native = ++last;
         return ok;
       };
     }},
    {"device_handle_shared", "two devices have one native handle", "devices: two devices have different native handles",
     [](Table& table) {
       table.device_native = [](void*, int32_t, uint32_t, uint64_t* native) {
         *native = 1;
         return ok;
       };
     }},
    {"figures_of_the_first_device", "every device tells the first one's memory",
     "devices apart: memory that is allocated on one device is missing there and nowhere else",
     [](Table& table) {
       table.device_memory = [](void* self, int32_t, anyplace_memory_info* out) {
         return real.device_memory(self, 0, out);
       };
     }},
    {"figures_of_all_devices", "what any device gives is missing on all",
     "devices apart: memory that is allocated on one device is missing there and nowhere else",
     [](Table& table) {
       table.device_memory = [](void* self, int32_t device, anyplace_memory_info* out) {
         anyplace_memory_info other{};
         other.struct_size = sizeof(other);
         const Status status = real.device_memory(self, device, out);
         real.device_memory(self, device == 0 ? 1 : 0, &other);
         out->free_bytes -= other.total_bytes - other.free_bytes;
         return status;
       };
     }},

    // -- Processes.
    {"process_not_listed", "the process itself isn't among those that use the device",
     "processes: this process is listed, with the memory that it has",
     alter_processes<+[](std::vector<anyplace_process>& processes) { processes[0].id = 1; }>},
    {"process_without_memory", "no process is said to have memory",
     "processes: this process is listed, with the memory that it has",
     alter_processes<+[](std::vector<anyplace_process>& processes) { processes[0].memory_bytes = 0; }>},
    {"process_listed_twice", "a process is listed for each of its threads",
     "processes: every process is listed once, by a number that a process can have",
     alter_processes<+[](std::vector<anyplace_process>& processes) { processes.push_back(processes[0]); }>},
    {"process_that_ended", "a process that ended is listed still",
     "processes: a process that ended is no longer listed",
     alter_processes<+[](std::vector<anyplace_process>& processes) {
       anyplace_process& ended = processes.emplace_back();
       ended.id = ended_process();
       ended.memory_bytes = 1;
     }>},
    {"process_memory_grows", "memory that a process had once counts for ever",
     "processes: memory that was freed doesn't count for the process any more",
     alter_processes<+[](std::vector<anyplace_process>& processes) {
       static std::atomic<uint64_t> most{0};
       most = std::max(most.load(), processes[0].memory_bytes);
       processes[0].memory_bytes = most;
     }>},
    {"processes_counted_as_written", "the number of processes is that of those that were written",
     "processes: without room for any struct the number of processes is given",
     [](Table& table) {
       table.list_processes = [](void* self, int32_t device, anyplace_process* out, uint32_t stride, uint32_t* count) {
         const uint32_t room = *count;
         const Status status = real.list_processes(self, device, out, stride, count);
         *count = std::min(*count, room);
         return status;
       };
     }},
    {"processes_past_the_room", "one process more is written than there is room for",
     "processes: with room for one no more than one is written",
     [](Table& table) {
       table.list_processes = [](void* self, int32_t device, anyplace_process* out, uint32_t stride, uint32_t* count) {
         const uint32_t room = *count;
         const Status status = real.list_processes(self, device, out, stride, count);
         if (room == *count) std::memset(reinterpret_cast<char*>(out) + size_t{room} * stride, 0, stride);
         return status;
       };
     }},
    {"processes_past_the_stride", "structs are written whole, whatever the stride",
     "processes: structs of the number alone are filled up to what both sides know",
     [](Table& table) {
       table.list_processes = [](void* self, int32_t device, anyplace_process* out, uint32_t stride, uint32_t* count) {
         return real.list_processes(self, device, out, std::max<uint32_t>(stride, sizeof(*out)), count);
       };
     }},
    {"peer_of_itself", "a device is its own peer", "devices apart: a device is no peer of itself",
     [](Table& table) {
       table.peer_query = [](void* self, int32_t device, int32_t peer, int32_t* can) {
         const Status status = real.peer_query(self, device, peer, can);
         if (device == peer) *can = 1;
         return status;
       };
     }},
    {"peer_promised_only", "peer access is promised and refused",
     "devices apart: peer access that peer_query says is possible can be enabled and disabled",
     [](Table& table) {
       table.peer_enable = [](void*, int32_t, int32_t) { return Status{ANYPLACE_STATUS_UNSUPPORTED}; };
     }},
};

}  // namespace

std::span<const Mutation> device_mutations() noexcept { return mutations; }

}  // namespace anyplace::mutants
