// SPDX-License-Identifier: Apache-2.0
// Mutations of what a device tells of itself while it works.
#include "mutation.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace anyplace::mutants {
namespace {

constexpr uint64_t bit(unsigned number) { return uint64_t{1} << number; }

/// What the first sample told.
const anyplace_device_sample& first_sample(const anyplace_device_sample& sample) {
  static const anyplace_device_sample first = sample;
  return first;
}

/// Alters each sample of cpu_sim's, and gives as much of it as the caller has room for.
template <void (*Alter)(anyplace_device_sample& sample)>
void alter_samples(Table& table) {
  table.device_sample = [](void* self, int32_t device, anyplace_device_sample* out) {
    anyplace_device_sample whole{};
    whole.struct_size = sizeof(whole);
    const Status status = real.device_sample(self, device, &whole);
    Alter(whole);
    whole.struct_size = out->struct_size < sizeof(whole) ? out->struct_size : static_cast<uint32_t>(sizeof(whole));
    std::memcpy(out, &whole, whole.struct_size);
    return status;
  };
}

decltype(Table::list_processes) both_processes = nullptr;

/// Lists another process, too: the parent, which has some memory. `Alter` sees both, and may write what it likes.
template <void (*Alter)(anyplace_process (&both)[2])>
void alter_processes(Table& table) {
  table.list_processes = [](void* self, int32_t device, anyplace_process* out, uint32_t stride, uint32_t* count) {
    anyplace_process both[2] = {};
    uint32_t one = 1;
    const Status status = real.list_processes(self, device, both, sizeof(anyplace_process), &one);
    both[1].id = static_cast<uint64_t>(getppid());
    Alter(both);
    for (uint32_t i = 0; i < std::min(*count, 2U); ++i) {
      std::memcpy(reinterpret_cast<char*>(out) + size_t{i} * stride, &both[i],
                  std::min<size_t>(stride, sizeof(both[i])));
    }
    *count = 2;
    return status;
  };
}
void change_nothing(anyplace_process (&)[2]) {}

/// The list of both, by an entry that calls it in another way than it was called.
template <anyplace_status (*Call)(void*, int32_t, anyplace_process*, uint32_t, uint32_t*)>
void list_both(Table& table) {
  alter_processes<change_nothing>(table);
  both_processes = table.list_processes;
  table.list_processes = Call;
}

const std::vector<Mutation> mutations = {
    {"sample_unknown_is_zero", "a clock that isn't known is told as 0",
     "monitoring: known figures are within their ranges, and the others are unknown",
     alter_samples<+[](anyplace_device_sample& sample) {
       sample.core_clock_hz = 0;
       sample.known |= bit(ANYPLACE_SAMPLE_BIT_CORE_CLOCK_HZ);
     }>},
    {"sample_share_in_percent", "a utilisation is told in hundredths of a percent too many",
     "monitoring: known figures are within their ranges, and the others are unknown",
     alter_samples<+[](anyplace_device_sample& sample) {
       sample.compute_ppm = 100 * 1000000;
       sample.known |= bit(ANYPLACE_SAMPLE_BIT_COMPUTE_PPM);
     }>},
    {"sample_unknown_written", "figures that aren't known are written", "monitoring: figures that aren't known are 0",
     alter_samples<+[](anyplace_device_sample& sample) { sample.power_milliwatts = 65000; }>},
    {"sample_writes_too_far", "a sample is written past the end of the caller's struct",
     "monitoring: a caller's shorter struct is filled up to its size",
     [](Table& table) {
       table.device_sample = [](void* self, int32_t device, anyplace_device_sample* out) {
         out->struct_size = sizeof(*out);
         return real.device_sample(self, device, out);
       };
     }},
    {"sample_counter_falls", "the time with work falls now and then", "monitoring: counters never fall",
     alter_samples<+[](anyplace_device_sample& sample) {
       static std::atomic<uint64_t> next{uint64_t{1} << 60};
       sample.compute_active_ns = --next;
     }>},
    {"sample_counter_without_clock", "the time with work is told without the clock that it is a part of",
     "monitoring: known figures are within their ranges, and the others are unknown",
     alter_samples<+[](anyplace_device_sample& sample) {
       sample.active_clock_ns = 0;
       sample.known &= ~bit(ANYPLACE_SAMPLE_BIT_ACTIVE_CLOCK_NS);
     }>},
    {"sample_share_and_counter", "a utilisation is told of one sample and by a counter, too",
     "monitoring: what is computed from two samples is of the time between them",
     alter_samples<+[](anyplace_device_sample& sample) {
       sample.compute_ppm = 500000;
       sample.known |= bit(ANYPLACE_SAMPLE_BIT_COMPUTE_PPM);
     }>},
    {"sample_memory_of_others", "memory in use is told without what this process has",
     "monitoring: memory that this process allocated is in use",
     alter_samples<+[](anyplace_device_sample& sample) { sample.memory_used_bytes = 0; }>},
    {"sample_more_than_there_is", "more memory is in use than there is",
     "monitoring: no more memory is in use than there is",
     alter_samples<+[](anyplace_device_sample& sample) { sample.memory_used_bytes = sample.memory_total_bytes + 1; }>},
    {"sample_synchronizes", "a sample waits for the device's work", "monitoring: a sample waits for no work",
     [](Table& table) {
       table.device_sample = [](void* self, int32_t device, anyplace_device_sample* out) {
         real.device_synchronize(self, device, ANYPLACE_FOREVER);
         return real.device_sample(self, device, out);
       };
     }},
    {"sample_known_once", "the memory in use is told once and never again",
     "monitoring: a figure that was known stays known while there is work",
     alter_samples<+[](anyplace_device_sample& sample) {
       static std::atomic<bool> told{false};
       if (told.exchange(true)) {
         sample.memory_used_bytes = 0;
         sample.known &= ~bit(ANYPLACE_SAMPLE_BIT_MEMORY_USED_BYTES);
       }
     }>},
    {"sample_of_no_figure", "a bit of no figure is known",
     "monitoring: no bit is known that this version has no figure for",
     alter_samples<+[](anyplace_device_sample& sample) { sample.known |= bit(40); }>},
    {"sample_reason_unknown", "the clocks are low for a reason that there isn't",
     "monitoring: no bit is known that this version has no figure for",
     alter_samples<+[](anyplace_device_sample& sample) {
       sample.throttle = bit(20);
       sample.known |= bit(ANYPLACE_SAMPLE_BIT_THROTTLE);
     }>},
    {"sample_source_silent", "nothing is told, and not why",
     "monitoring: the source says something when no figure is known",
     alter_samples<+[](anyplace_device_sample& sample) { sample = {}; }>},
    {"sample_counter_stands", "the time with work stands still",
     "monitoring: the active time rises as each device works", alter_samples<+[](anyplace_device_sample& sample) {
       sample.compute_active_ns = first_sample(sample).compute_active_ns;
     }>},
    {"sample_clock_stands", "the clock of the time with work stands still",
     "monitoring: the active time rises as each device works", alter_samples<+[](anyplace_device_sample& sample) {
       sample.active_clock_ns = first_sample(sample).active_clock_ns;
     }>},
    {"sample_clock_in_microseconds", "the clock of the time with work is in microseconds",
     "monitoring: the clock of the active times is in nanoseconds, and no less than they",
     alter_samples<+[](anyplace_device_sample& sample) {
       sample.active_clock_ns /= 1000;
       sample.compute_active_ns /= 1000;
     }>},
    {"sample_time_of_all_workers", "the time with work is that of many workers, added up",
     "monitoring: the clock of the active times is in nanoseconds, and no less than they",
     alter_samples<+[](anyplace_device_sample& sample) { sample.compute_active_ns *= 1000; }>},
    {"sample_memory_once", "the memory in use is what it was at the first sample",
     "monitoring: the memory in use grows by what is allocated", alter_samples<+[](anyplace_device_sample& sample) {
       sample.memory_used_bytes = first_sample(sample).memory_used_bytes + (uint64_t{512} << 20);
     }>},
    {"sample_of_first_device", "every device's sample is the first one's",
     "monitoring: memory that is allocated on one device is in use there and nowhere else",
     [](Table& table) {
       table.device_sample = [](void* self, int32_t, anyplace_device_sample* out) {
         return real.device_sample(self, 0, out);
       };
     }},
    {"sample_of_all_devices", "a sample has the memory in use on all devices",
     "monitoring: memory that is allocated on one device is in use there and nowhere else",
     [](Table& table) {
       table.device_sample = [](void* self, int32_t device, anyplace_device_sample* out) {
         anyplace_device_sample other{};
         other.struct_size = sizeof(other);
         real.device_sample(self, 1 - device, &other);
         const Status status = real.device_sample(self, device, out);
         out->memory_used_bytes += other.memory_used_bytes;
         return status;
       };
     }},
    {"sample_total_doubled", "the total is that of two devices",
     "monitoring: the total memory of a sample is that of the device's other figures",
     alter_samples<+[](anyplace_device_sample& sample) { sample.memory_total_bytes *= 2; }>},
    {"sample_total_in_kibibytes", "the total is in KiB, and so is what is in use",
     "monitoring: the total memory of a sample is that of the device's other figures",
     alter_samples<+[](anyplace_device_sample& sample) {
       sample.memory_total_bytes /= 1024;
       sample.memory_used_bytes /= 1024;
     }>},
    {"monitoring_absent", "monitoring is claimed and refused",
     "capabilities: monitoring: claimed and works, or refused",
     [](Table& table) {
       table.device_sample = [](void*, int32_t, anyplace_device_sample*) {
         return Status{ANYPLACE_STATUS_UNSUPPORTED};
       };
     }},

    // -- Processes.
    {"two_processes", "another process is listed, too", "innocent: devices.processes", alter_processes<change_nothing>},
    {"processes_with_all", "each process has the memory of all",
     "monitoring: all processes together have no more memory than is in use",
     alter_processes<+[](anyplace_process (&both)[2]) { both[1].memory_bytes = both[0].memory_bytes; }>},
    {"process_of_unknown_kind", "a process is of kinds that can't be told",
     "processes: a process's figures are within their ranges, and so is its memory",
     alter_processes<+[](anyplace_process (&both)[2]) {
       both[1].kinds = ANYPLACE_PROCESS_GRAPHICS;
       both[1].kinds_known = ANYPLACE_PROCESS_COMPUTE;
     }>},
    {"process_without_its_kind", "this process is said not to compute",
     "processes: a process's figures are within their ranges, and so is its memory",
     alter_processes<+[](anyplace_process (&both)[2]) { both[0].kinds = 0; }>},
    {"process_share_in_percent", "a process's share is in hundredths of a percent too many",
     "processes: a process's figures are within their ranges, and so is its memory",
     alter_processes<+[](anyplace_process (&both)[2]) {
       both[0].compute_ppm = 100 * 1000000;
       both[0].compute_known = 1;
     }>},
    {"two_processes_past_the_room", "all processes are written, whatever room there is",
     "processes: of several processes, one behind the other, as many are written as there is room for",
     list_both<+[](void* self, int32_t device, anyplace_process* out, uint32_t stride, uint32_t* count) {
       if (*count != 0) *count = 2;
       return both_processes(self, device, out, stride, count);
     }>},
    {"processes_without_stride", "processes are written one behind the other, whatever the stride",
     "processes: of several processes, 4096 bytes apart, as many are written as there is room for",
     list_both<+[](void* self, int32_t device, anyplace_process* out, uint32_t, uint32_t* count) {
       return both_processes(self, device, out, sizeof(anyplace_process), count);
     }>},
    {"processes_count_the_room", "no more processes are counted than there is room for",
     "processes: of several processes, one behind the other, as many are written as there is room for",
     list_both<+[](void* self, int32_t device, anyplace_process* out, uint32_t stride, uint32_t* count) {
       const uint32_t room = *count;
       const Status status = both_processes(self, device, out, stride, count);
       *count = room == 0 ? *count : std::min(*count, room);
       return status;
     }>},
};

}  // namespace

std::span<const Mutation> monitoring_mutations() noexcept { return mutations; }

}  // namespace anyplace::mutants
