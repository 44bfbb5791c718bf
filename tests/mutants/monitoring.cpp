// SPDX-License-Identifier: Apache-2.0
// Mutations of what a device tells of itself while it works.
#include "mutation.h"

#include <cstring>

namespace anyplace::mutants {
namespace {

constexpr uint64_t bit(unsigned number) { return uint64_t{1} << number; }

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

const std::vector<Mutation> mutations = {
    {"sample_unknown_is_zero", "a clock that isn't known is told as 0",
     "monitoring: what is told is within its range and what isn't told is unknown",
     alter_samples<+[](anyplace_device_sample& sample) {
       sample.core_clock_hz = 0;
       sample.known |= bit(ANYPLACE_SAMPLE_BIT_CORE_CLOCK_HZ);
     }>},
    {"sample_share_in_percent", "a utilisation is told in hundredths of a percent too many",
     "monitoring: what is told is within its range and what isn't told is unknown",
     alter_samples<+[](anyplace_device_sample& sample) {
       sample.compute_ppm = 100 * 1000000;
       sample.known |= bit(ANYPLACE_SAMPLE_BIT_COMPUTE_PPM);
     }>},
    {"sample_unknown_written", "figures that aren't known are written",
     "monitoring: of the figures that aren't known none is written",
     alter_samples<+[](anyplace_device_sample& sample) { sample.power_milliwatts = 65000; }>},
    {"sample_writes_too_far", "a sample is written past the end of the caller's struct",
     "monitoring: a caller's shorter struct is filled as far as it goes",
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
     "monitoring: what is told is within its range and what isn't told is unknown",
     alter_samples<+[](anyplace_device_sample& sample) {
       sample.active_clock_ns = 0;
       sample.known &= ~bit(ANYPLACE_SAMPLE_BIT_ACTIVE_CLOCK_NS);
     }>},
    {"sample_share_and_counter", "a utilisation is told of one sample and by a counter, too",
     "monitoring: what comes of two samples is of the time between them",
     alter_samples<+[](anyplace_device_sample& sample) {
       sample.compute_ppm = 500000;
       sample.known |= bit(ANYPLACE_SAMPLE_BIT_COMPUTE_PPM);
     }>},
    {"sample_memory_of_others", "memory in use is told without what this process has",
     "monitoring: what this process allocated is in use",
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
    {"monitoring_absent", "monitoring is claimed and refused",
     "capabilities: monitoring: claimed and works, or refused",
     [](Table& table) {
       table.device_sample = [](void*, int32_t, anyplace_device_sample*) {
         return Status{ANYPLACE_STATUS_UNSUPPORTED};
       };
     }},
};

}  // namespace

std::span<const Mutation> monitoring_mutations() noexcept { return mutations; }

}  // namespace anyplace::mutants
