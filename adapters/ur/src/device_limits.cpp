// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <array>

#include "device_info.h"

namespace anyplace_ur {

namespace {

constexpr uint64_t unknown_memory = uint64_t{1} << 32;  ///< bytes that are said where the vendor can't tell
constexpr size_t parameter_bytes = 4096;                ///< of a launch, as CUDA had it first
constexpr uint32_t constant_arguments = 8;              ///< the least that OpenCL allows

uint64_t memory_size(const ur_device_handle_t_& device) {
  return device.properties.total_memory.value_or(unknown_memory);
}

struct Cache {
  uint64_t bytes = 0;  ///< 0: the vendor's interface doesn't say
  uint32_t line = 0;
};

/// For a device that is made of the processor's threads, the processor's.
Cache cache_of(const ur_device_handle_t_& device) {
  if (device.type() != UR_DEVICE_TYPE_CPU) return {device.properties.l2_cache_bytes.value_or(0), 0};
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  const long line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
  return {static_cast<uint64_t>(std::max(bytes, 0L)), static_cast<uint32_t>(std::max(line, 0L))};
}

uint32_t megahertz(uint64_t hertz) { return static_cast<uint32_t>(hertz / 1'000'000); }

template <class Value, class Convert>
void tell_if_known(const std::optional<Value>& value, const InfoWriter& write, Convert convert) {
  if (!value.has_value()) refuse_query();
  write(convert(*value));
}

/// Bytes a second: memory of graphics cards transfers twice a clock.
void tell_bandwidth(const anyplace::DeviceProperties& properties, const InfoWriter& write) {
  if (!properties.memory_clock_hz.has_value() || !properties.memory_bus_bits.has_value()) refuse_query();
  write(*properties.memory_clock_hz * 2 * (*properties.memory_bus_bits / 8));
}

/// Threads that run in step; one by itself where the vendor can't tell.
std::vector<uint32_t> sub_group_sizes(const ur_device_handle_t_& device) {
  const std::vector<uint32_t>& sizes = device.properties.sub_group_sizes;
  return sizes.empty() ? std::vector<uint32_t>{1} : sizes;
}

void tell_free_memory(const ur_device_handle_t_& device, const InfoWriter& write) {
  const std::optional<uint64_t> free = device.device.memory_info().free;
  if (!free.has_value()) refuse_query();
  write(*free);
}

/// Elements of `bytes` each that one thread works on at once. No backend has vectors of its own.
bool tell_vector_widths(ur_device_info_t name, const InfoWriter& write) {
  switch (name) {
    case UR_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_CHAR:
    case UR_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_SHORT:
    case UR_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_INT:
    case UR_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_LONG:
    case UR_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_LONG_LONG:
    case UR_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_FLOAT:
    case UR_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_DOUBLE:
    case UR_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_HALF:
    case UR_DEVICE_INFO_NATIVE_VECTOR_WIDTH_CHAR:
    case UR_DEVICE_INFO_NATIVE_VECTOR_WIDTH_SHORT:
    case UR_DEVICE_INFO_NATIVE_VECTOR_WIDTH_INT:
    case UR_DEVICE_INFO_NATIVE_VECTOR_WIDTH_LONG:
    case UR_DEVICE_INFO_NATIVE_VECTOR_WIDTH_LONG_LONG:
    case UR_DEVICE_INFO_NATIVE_VECTOR_WIDTH_FLOAT:
    case UR_DEVICE_INFO_NATIVE_VECTOR_WIDTH_DOUBLE:
    case UR_DEVICE_INFO_NATIVE_VECTOR_WIDTH_HALF:
      return write(uint32_t{1}), true;
    default:
      return false;
  }
}

bool tell_images(ur_device_info_t name, const InfoWriter& write) {
  switch (name) {  // there are none
    case UR_DEVICE_INFO_MAX_READ_IMAGE_ARGS:
    case UR_DEVICE_INFO_MAX_WRITE_IMAGE_ARGS:
    case UR_DEVICE_INFO_MAX_READ_WRITE_IMAGE_ARGS:
    case UR_DEVICE_INFO_MAX_SAMPLERS:
    case UR_DEVICE_INFO_IMAGE_PITCH_ALIGN_EXP:
      return write(uint32_t{0}), true;
    case UR_DEVICE_INFO_MIPMAP_MAX_ANISOTROPY_EXP:
      return write(uint32_t{0}), true;
    case UR_DEVICE_INFO_IMAGE2D_MAX_WIDTH:
    case UR_DEVICE_INFO_IMAGE2D_MAX_HEIGHT:
    case UR_DEVICE_INFO_IMAGE3D_MAX_WIDTH:
    case UR_DEVICE_INFO_IMAGE3D_MAX_HEIGHT:
    case UR_DEVICE_INFO_IMAGE3D_MAX_DEPTH:
    case UR_DEVICE_INFO_IMAGE_MAX_BUFFER_SIZE:
    case UR_DEVICE_INFO_IMAGE_MAX_ARRAY_SIZE:
    case UR_DEVICE_INFO_MAX_IMAGE_LINEAR_WIDTH_EXP:
    case UR_DEVICE_INFO_MAX_IMAGE_LINEAR_HEIGHT_EXP:
    case UR_DEVICE_INFO_MAX_IMAGE_LINEAR_PITCH_EXP:
      return write(size_t{0}), true;
    default:
      return false;
  }
}

bool tell_launches(const ur_device_handle_t_& device, ur_device_info_t name, const InfoWriter& write) {
  const anyplace::DeviceProperties& properties = device.properties;
  switch (name) {
    case UR_DEVICE_INFO_MAX_COMPUTE_UNITS:
    case UR_DEVICE_INFO_NUM_COMPUTE_UNITS:
      return write(std::max(properties.compute_units, 1U)), true;
    case UR_DEVICE_INFO_MAX_WORK_ITEM_DIMENSIONS:
      return write(uint32_t{3}), true;
    case UR_DEVICE_INFO_MAX_WORK_ITEM_SIZES:
      return write(std::array<size_t, 3>{properties.max_block[0], properties.max_block[1], properties.max_block[2]}),
             true;
    case UR_DEVICE_INFO_MAX_WORK_GROUP_SIZE:
      return write(size_t{properties.max_threads_per_block}), true;
    case UR_DEVICE_INFO_MAX_WORK_GROUPS_3D:
      return write(std::array<size_t, 3>{properties.max_grid[0], properties.max_grid[1], properties.max_grid[2]}), true;
    case UR_DEVICE_INFO_MAX_WORK_GROUPS:
      return write(size_t{properties.max_grid[0]}), true;
    case UR_DEVICE_INFO_MAX_PARAMETER_SIZE:
      return write(parameter_bytes), true;
    case UR_DEVICE_INFO_MAX_NUM_SUB_GROUPS:
      return write(std::max(properties.max_threads_per_block / sub_group_sizes(device).front(), 1U)), true;
    case UR_DEVICE_INFO_SUB_GROUP_SIZES_INTEL:
      return write.array(sub_group_sizes(device)), true;
    case UR_DEVICE_INFO_MAX_COMPUTE_QUEUE_INDICES:
      return write(uint32_t{1}), true;
    default:
      return false;
  }
}

bool tell_memory(const ur_device_handle_t_& device, ur_device_info_t name, const InfoWriter& write) {
  switch (name) {
    case UR_DEVICE_INFO_GLOBAL_MEM_SIZE:
      return write(memory_size(device)), true;
    case UR_DEVICE_INFO_MAX_MEM_ALLOC_SIZE:
    case UR_DEVICE_INFO_MAX_CONSTANT_BUFFER_SIZE:
      return write(device.properties.max_allocation.value_or(memory_size(device))), true;
    case UR_DEVICE_INFO_GLOBAL_MEM_FREE:
      return tell_free_memory(device, write), true;
    case UR_DEVICE_INFO_MEM_BASE_ADDR_ALIGN:
      return write(static_cast<uint32_t>(device.properties.address_alignment * 8)), true;  // bits
    case UR_DEVICE_INFO_GLOBAL_MEM_CACHE_TYPE:
      return write(cache_of(device).bytes == 0 ? UR_DEVICE_MEM_CACHE_TYPE_NONE
                                               : UR_DEVICE_MEM_CACHE_TYPE_READ_WRITE_CACHE),
             true;
    case UR_DEVICE_INFO_GLOBAL_MEM_CACHELINE_SIZE:
      return write(cache_of(device).line), true;
    case UR_DEVICE_INFO_GLOBAL_MEM_CACHE_SIZE:
      return write(cache_of(device).bytes), true;
    case UR_DEVICE_INFO_MAX_CONSTANT_ARGS:
      return write(constant_arguments), true;
    case UR_DEVICE_INFO_LOCAL_MEM_TYPE:
      return write(UR_DEVICE_LOCAL_MEM_TYPE_LOCAL), true;
    case UR_DEVICE_INFO_LOCAL_MEM_SIZE:
      return write(device.properties.max_shared_bytes), true;
    case UR_DEVICE_INFO_ADDRESS_BITS:
      return write(uint32_t{64}), true;
    default:
      return false;
  }
}

}  // namespace

bool tell_limits(ur_device_handle_t_& device, ur_device_info_t name, const InfoWriter& write) {
  if (tell_vector_widths(name, write) || tell_images(name, write)) return true;
  if (tell_launches(device, name, write) || tell_memory(device, name, write)) return true;
  switch (name) {
    case UR_DEVICE_INFO_MAX_CLOCK_FREQUENCY:
      return write(megahertz(device.properties.clock_hz.value_or(0))), true;  // 0: the vendor doesn't say
    case UR_DEVICE_INFO_MEMORY_CLOCK_RATE:
      return tell_if_known(device.properties.memory_clock_hz, write, megahertz), true;
    case UR_DEVICE_INFO_MEMORY_BUS_WIDTH:
      return tell_if_known(device.properties.memory_bus_bits, write, [](uint32_t bits) { return bits; }), true;
    case UR_DEVICE_INFO_MAX_MEMORY_BANDWIDTH:
      return tell_bandwidth(device.properties, write), true;
    case UR_DEVICE_INFO_PROFILING_TIMER_RESOLUTION:
      return write(size_t{1}), true;  // nanoseconds
    case UR_DEVICE_INFO_PRINTF_BUFFER_SIZE:
      return write(size_t{0}), true;
    default:
      return false;
  }
}

}  // namespace anyplace_ur
