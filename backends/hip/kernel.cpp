// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include <cstddef>

#include "anyplace/backend/kit/properties.h"
#include "anyplace/backend/kit/refusals.h"
#include "stream.h"

namespace anyplace::hip {

Kernel::Kernel(DeviceBase& device, hipFunction_t function, const char* name)
    : device_(device), function_(function), name_(name) {
  max_threads_ = static_cast<std::uint64_t>(attribute(HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  const auto own = static_cast<std::uint64_t>(attribute(HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  const auto most = static_cast<std::uint64_t>(device.attribute(hipDeviceAttributeMaxSharedMemoryPerBlock));
  shared_limit_ = most > own ? most - own : 0;
}

int Kernel::attribute(hipFunction_attribute attribute) const {
  int value = 0;
  device_.check(driver().FuncGetAttribute(&value, attribute, function_), "hipFuncGetAttribute");
  return value > 0 ? value : 0;
}

void Kernel::attributes(anyplace_kernel_attributes& out) const {
  const DeviceScope scope(device_);
  const auto figure = [this](hipFunction_attribute which) { return static_cast<std::uint32_t>(attribute(which)); };
  out.max_threads_per_block = static_cast<std::uint32_t>(max_threads_);
  out.registers = figure(HIP_FUNC_ATTRIBUTE_NUM_REGS);
  out.sub_group_size = backend::at_least_one(device_.attribute(hipDeviceAttributeWarpSize));
  out.shared_bytes = figure(HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  out.local_bytes = figure(HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  out.constant_bytes = figure(HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
}

std::uint32_t Kernel::occupancy(std::uint32_t threads, std::uint64_t shared_bytes) const {
  if (!driver().ModuleOccupancyMaxActiveBlocksPerMultiprocessor) {
    refuse(ANYPLACE_STATUS_UNSUPPORTED, "the library has no hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
  }
  const DeviceScope scope(device_);
  int blocks = 0;
  device_.check(driver().ModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function_, static_cast<int>(threads),
                                                                         static_cast<std::size_t>(shared_bytes)),
                "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
  return static_cast<std::uint32_t>(backend::not_negative(blocks));
}

void Kernel::refuse_shared(const anyplace_launch& launch) const {
  refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, std::to_string(launch.shared_bytes) +
                                               " bytes of dynamic shared memory; a block of kernel " + name_ +
                                               " can have " + std::to_string(shared_limit_) +
                                               ", which is what the device has less what the kernel itself uses");
}

void Kernel::prepare(const anyplace_launch& launch, void** pointers) const {
  if (backend::threads_of(launch) > max_threads_) [[unlikely]]
    backend::refuse_threads(name_, launch, max_threads_);
  if (launch.shared_bytes > shared_limit_) [[unlikely]]
    refuse_shared(launch);
  if (launch.argument_count > max_arguments) [[unlikely]]
    backend::refuse_argument_count(launch, max_arguments);
  for (std::size_t i = 0; i < launch.argument_count; ++i) {
    pointers[i] = const_cast<void*>(backend::argument_at(launch, i).value);
  }
}

void Kernel::launch(const Stream& stream, const anyplace_launch& launch) {
  void* pointers[max_arguments];
  prepare(launch, pointers);
  const DeviceScope scope(device_);
  const hipError_t result = driver().ModuleLaunchKernel(
      function_, launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0], launch.block[1], launch.block[2],
      static_cast<unsigned>(launch.shared_bytes), stream.native(), pointers, nullptr);
  device_.check(result, "hipModuleLaunchKernel");
}

}  // namespace anyplace::hip
