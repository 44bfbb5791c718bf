// SPDX-License-Identifier: Apache-2.0
//
// What Paddle asks about a device: memory figures and properties. What is left null in the table, and why, is in
// README.md.
#include <algorithm>
#include <array>
#include <cstdio>

#include <anyplace/memory_stats.h>
#include <anyplace/version.h>

#include "entries.h"
#include "paddle/phi/backends/device_base.h"
#include "places.h"
#include "report.h"

namespace anyplace_paddle {
namespace {

using anyplace::Device;
using anyplace::DeviceProperties;

/// "12.4" as CUDA writes versions, 12040, which Paddle takes apart again. 0 for a text that isn't one.
size_t version_number(const char* text) {
  unsigned major = 0, minor = 0;
  return std::sscanf(text, "%u.%u", &major, &minor) >= 1 ? size_t{1000} * major + size_t{10} * minor : 0;
}

/// Asks for one property.
template <class Take>
C_Status tell(const char* entry, C_Device device, Take&& take) noexcept {
  return guarded(entry, device, [&] { take(device_of(device).properties()); });
}

/// Where the vendor can't tell what is free, it is what Paddle doesn't have; 0 of 0 where the total isn't known either.
C_Status device_memory_stats(const C_Device device, size_t* total, size_t* free) noexcept {
  return guarded("device_memory_stats", device, [&] {
    const Device& place = device_of(device);
    const anyplace::MemoryInfo info = place.memory_info();
    *total = info.total.value_or(place.properties().total_memory.value_or(0));
    *free = info.free.value_or(*total - std::min<std::uint64_t>(*total, anyplace::memory_reserved(place)));
  });
}

/// What chunks are rounded up to.
C_Status device_min_chunk_size(const C_Device device, size_t* bytes) noexcept {
  constexpr size_t least = 256;
  return tell("device_min_chunk_size", device, [&](const DeviceProperties& properties) {
    *bytes = std::max<size_t>(properties.address_alignment, least);
  });
}

C_Status get_compute_capability(const C_Device device, size_t* capability) noexcept {
  return tell("get_compute_capability", device, [&](const DeviceProperties& properties) {
    const anyplace::ComputeCapability known = properties.compute_capability.value_or(anyplace::ComputeCapability{});
    *capability = static_cast<size_t>(known.major) * 10 + static_cast<size_t>(known.minor);
  });
}

C_Status get_device_properties(const C_Device device, void* out) noexcept {
  return tell("get_device_properties", device, [&](const DeviceProperties& properties) {
    const anyplace::ComputeCapability known = properties.compute_capability.value_or(anyplace::ComputeCapability{});
    *static_cast<phi::DeviceProp*>(out) =
        phi::DeviceProp(properties.name, known.major, known.minor, properties.total_memory.value_or(0),
                        static_cast<int>(properties.compute_units), false, false);
  });
}

C_Status get_runtime_version(const C_Device, size_t* version) noexcept {
  *version = version_number(anyplace::version());
  return C_SUCCESS;
}

C_Status get_driver_version(const C_Device device, size_t* version) noexcept {
  return tell("get_driver_version", device, [&](const DeviceProperties& properties) {
    *version = version_number(properties.driver_version.c_str());
  });
}

C_Status get_multi_process(const C_Device device, size_t* count) noexcept {
  return tell("get_multi_process", device,
              [&](const DeviceProperties& properties) { *count = properties.compute_units; });
}

/// A block at a time is what anyplace promises of a compute unit.
C_Status get_max_threads_per_mp(const C_Device device, size_t* threads) noexcept {
  return tell("get_max_threads_per_mp", device,
              [&](const DeviceProperties& properties) { *threads = properties.max_threads_per_block; });
}

C_Status get_max_threads_per_block(const C_Device device, size_t* threads) noexcept {
  return tell("get_max_threads_per_block", device,
              [&](const DeviceProperties& properties) { *threads = properties.max_threads_per_block; });
}

C_Status get_max_grid_dim_size(const C_Device device, std::array<unsigned int, 3>* grid) noexcept {
  return tell("get_max_grid_dim_size", device,
              [&](const DeviceProperties& properties) { std::ranges::copy(properties.max_grid, grid->begin()); });
}

/// What Paddle means is whether there are kernels for the type. All of them are the CPU's here, which lacks most in
/// half precision and computes with bfloat16 by way of float.
C_Status no_kernels_of_that_kind(const C_Device, bool* supported) noexcept {
  *supported = false;
  return C_SUCCESS;
}

}  // namespace

void fill_information(C_DeviceInterface& table) {
  table.device_memory_stats = device_memory_stats;
  table.device_min_chunk_size = device_min_chunk_size;
  table.get_compute_capability = get_compute_capability;
  table.get_device_properties = get_device_properties;
  table.get_runtime_version = get_runtime_version;
  table.get_driver_version = get_driver_version;
  table.get_multi_process = get_multi_process;
  table.get_max_threads_per_mp = get_max_threads_per_mp;
  table.get_max_threads_per_block = get_max_threads_per_block;
  table.get_max_grid_dim_size = get_max_grid_dim_size;
  table.is_float16_supported = no_kernels_of_that_kind;
  table.is_bfloat16_supported = no_kernels_of_that_kind;
  table.is_dnn_supported = no_kernels_of_that_kind;
}

}  // namespace anyplace_paddle
