// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include <cstddef>

#include "device.h"
#include "stream.h"

namespace anyplace::hip {
namespace {

constexpr std::size_t max_arguments = 1024;

const anyplace_argument& argument_at(const anyplace_launch& launch, std::size_t index) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(launch.arguments);
  return *reinterpret_cast<const anyplace_argument*>(bytes + index * launch.argument_stride);
}

}  // namespace

Kernel::Kernel(Device& device, hipFunction_t function, const char* name)
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

void Kernel::refuse_threads(const anyplace_launch& launch) const {
  refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
         "a block of " + std::to_string(launch.block[0]) + " x " + std::to_string(launch.block[1]) + " x " +
             std::to_string(launch.block[2]) + " threads; kernel " + name_ + " takes " + std::to_string(max_threads_) +
             ", because of the registers it uses or the bounds it was compiled with");
}

void Kernel::refuse_shared(const anyplace_launch& launch) const {
  refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, std::to_string(launch.shared_bytes) +
                                               " bytes of dynamic shared memory; a block of kernel " + name_ +
                                               " can have " + std::to_string(shared_limit_) +
                                               ", which is what the device has less what the kernel itself uses");
}

void Kernel::launch(const Stream& stream, const anyplace_launch& launch) {
  // Each factor is within the device's limits, so the product can't overflow.
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  if (threads > max_threads_) [[unlikely]]
    refuse_threads(launch);
  if (launch.shared_bytes > shared_limit_) [[unlikely]]
    refuse_shared(launch);
  if (launch.argument_count > max_arguments) [[unlikely]] {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
           std::to_string(launch.argument_count) + " arguments; the limit is " + std::to_string(max_arguments));
  }
  const DeviceScope scope(device_);
  void* pointers[max_arguments];
  for (std::size_t i = 0; i < launch.argument_count; ++i) {
    pointers[i] = const_cast<void*>(argument_at(launch, i).value);
  }
  const hipError_t result = driver().ModuleLaunchKernel(
      function_, launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0], launch.block[1], launch.block[2],
      static_cast<unsigned>(launch.shared_bytes), stream.native(), pointers, nullptr);
  device_.check(result, "hipModuleLaunchKernel");
}

}  // namespace anyplace::hip
