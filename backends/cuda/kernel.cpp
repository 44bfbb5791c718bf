// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include <cstddef>
#include <cstring>

#include "anyplace/backend/kit/properties.h"
#include "anyplace/backend/kit/refusals.h"
#include "kernel_launch.h"

namespace anyplace::cuda {

using backend::argument_at;

Kernel::Kernel(DeviceBase& device, CUfunction function, const char* name)
    : device_(device), function_(function), name_(name) {
  // The function is loaded here and not at the first launch, because loading may wait for the device, which a launch
  // must not.
  if (driver().FuncLoad != nullptr) device.check(driver().FuncLoad(function), "cuFuncLoad");
  max_threads_ = static_cast<std::uint64_t>(attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  static_shared_bytes_ = static_cast<std::uint64_t>(attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  const int limit = attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  shared_limit_.store(limit > 0 ? static_cast<std::uint64_t>(limit) : 0, std::memory_order_relaxed);
  if (driver().FuncGetParamInfo != nullptr) find_parameters();
}

int Kernel::attribute(CUfunction_attribute attribute) const {
  int value = 0;
  device_.check(driver().FuncGetAttribute(&value, attribute, function_), "cuFuncGetAttribute");
  return value;
}

void Kernel::attributes(anyplace_kernel_attributes& out) const {
  const DeviceScope scope(device_);
  const auto figure = [this](CUfunction_attribute which) { return backend::not_negative(attribute(which)); };
  out.max_threads_per_block = static_cast<std::uint32_t>(max_threads_);
  out.registers = static_cast<std::uint32_t>(figure(CU_FUNC_ATTRIBUTE_NUM_REGS));
  out.sub_group_size = backend::at_least_one(device_.attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE));
  out.shared_bytes = static_shared_bytes_;
  out.local_bytes = figure(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  out.constant_bytes = figure(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
}

std::uint32_t Kernel::occupancy(std::uint32_t threads, std::uint64_t shared_bytes) {
  if (driver().OccupancyMaxActiveBlocksPerMultiprocessor == nullptr) {
    refuse(ANYPLACE_STATUS_UNSUPPORTED, "the driver has no cuOccupancyMaxActiveBlocksPerMultiprocessor");
  }
  if (shared_bytes > shared_limit_.load(std::memory_order_relaxed)) raise_shared_limit(shared_bytes);
  const DeviceScope scope(device_);
  int blocks = 0;
  device_.check(driver().OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function_, static_cast<int>(threads),
                                                                   static_cast<std::size_t>(shared_bytes)),
                "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  return static_cast<std::uint32_t>(backend::not_negative(blocks));
}

void Kernel::find_parameters() {
  while (true) {
    std::size_t offset = 0;
    std::size_t size = 0;
    const CUresult result = driver().FuncGetParamInfo(function_, parameter_sizes_.size(), &offset, &size);
    if (result == CUDA_ERROR_INVALID_VALUE) break;  // there are no more
    if (result == CUDA_ERROR_NOT_SUPPORTED) return;
    device_.check(result, "cuFuncGetParamInfo");
    parameter_sizes_.push_back(static_cast<std::uint32_t>(size));
  }
  if (parameter_sizes_.size() > max_arguments) return;
  parameter_count_ = static_cast<std::uint32_t>(parameter_sizes_.size());
  const std::uint32_t form[] = {parameter_count_, sizeof(anyplace_argument)};
  std::memcpy(&known_form_, form, sizeof(form));
}

void Kernel::refuse_arguments(const anyplace_launch& launch) const {
  if (launch.argument_count > max_arguments) backend::refuse_argument_count(launch, max_arguments);
  if (launch.argument_count != parameter_sizes_.size()) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "kernel " + name_ + " has " + std::to_string(parameter_sizes_.size()) +
                                                 " parameters, and the launch has " +
                                                 std::to_string(launch.argument_count) + " arguments");
  }
  std::size_t wrong = 0;
  while (argument_at(launch, wrong).size == parameter_sizes_[wrong]) ++wrong;
  refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "argument " + std::to_string(wrong) + " of kernel " + name_ + " has " +
                                               std::to_string(argument_at(launch, wrong).size) +
                                               " bytes; the kernel's parameter has " +
                                               std::to_string(parameter_sizes_[wrong]));
}

void Kernel::raise_shared_limit(std::uint64_t wanted) {
  const DeviceScope scope(device_);
  const auto most =
      static_cast<std::uint64_t>(device_.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                                                   device_.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)));
  const std::uint64_t left = most > static_shared_bytes_ ? most - static_shared_bytes_ : 0;
  if (wanted > left) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
           std::to_string(wanted) + " bytes of dynamic shared memory; a block of kernel " + name_ + " can have " +
               std::to_string(left) + ": the device has " + std::to_string(most) + ", and the kernel itself uses " +
               std::to_string(static_shared_bytes_));
  }
  device_.check(
      driver().FuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(left)),
      "cuFuncSetAttribute");
  shared_limit_.store(left, std::memory_order_relaxed);
}

void Kernel::take_arguments(const anyplace_launch& launch, void** pointers) const {
  const bool known = parameter_count_ != unknown;
  if (launch.argument_count > max_arguments || (known && launch.argument_count != parameter_count_)) {
    refuse_arguments(launch);
  }
  for (std::uint32_t i = 0; i < launch.argument_count; ++i) {
    const anyplace_argument& argument = argument_at(launch, i);
    if (known && argument.size != parameter_sizes_[i]) refuse_arguments(launch);
    pointers[i] = const_cast<void*>(argument.value);
  }
}

void Kernel::prepare(const anyplace_launch& launch, void** pointers) {
  take_arguments(launch, pointers);
  if (launch.shared_bytes > shared_limit_.load(std::memory_order_relaxed)) raise_shared_limit(launch.shared_bytes);
}

void Kernel::launch_carefully(const Stream& stream, const anyplace_launch& launch) {
  void* pointers[max_arguments];
  prepare(launch, pointers);
  if (stream.launches_in_context()) {
    const DeviceScope scope(device_);
    check_launch({call(stream, launch, pointers), "cuLaunchKernel"}, launch);
  } else if (const CUresult result = call(stream, launch, pointers); result != CUDA_SUCCESS) {
    launch_again(result, stream, launch);
  }
}

void Kernel::launch_again(CUresult result, const Stream& stream, const anyplace_launch& launch) {
  // A launch that was refused for its context wasn't made, so it can be repeated.
  if (is_of_current_context(result) || result == CUDA_ERROR_INVALID_HANDLE) {
    void* pointers[max_arguments];
    take_arguments(launch, pointers);
    const DeviceScope scope(device_);
    result = call(stream, launch, pointers);
    if (result == CUDA_SUCCESS) stream.launch_in_context();
  }
  check_launch({result, "cuLaunchKernel"}, launch);
}

void Kernel::check_launch(const Called<CUresult>& made, const anyplace_launch& launch) const {
  if (made.result != CUDA_SUCCESS && backend::threads_of(launch) > max_threads_) {
    backend::refuse_threads(name_, launch, max_threads_);
  }
  device_.check(made);
}

}  // namespace anyplace::cuda
