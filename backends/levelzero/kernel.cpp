// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include <algorithm>
#include <cstddef>

#include "anyplace/backend/kit/refusals.h"
#include "device_base.h"
#include "stream.h"

namespace anyplace::levelzero {
namespace {

std::string triple(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  return std::to_string(x) + " x " + std::to_string(y) + " x " + std::to_string(z);
}

}  // namespace

Kernel::Kernel(DeviceBase& device, ze_module_handle_t module, const char* name, int shared_argument)
    : device_(device), name_(name), shared_argument_(shared_argument) {
  ze_kernel_desc_t desc{};
  desc.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC;
  desc.pKernelName = name;
  const ze_result_t result = api().KernelCreate(module, &desc, &native_);
  if (result == ZE_RESULT_ERROR_INVALID_KERNEL_NAME || result == ZE_RESULT_ERROR_INVALID_FUNCTION_NAME) {
    Results::fail(
        result, "zeKernelCreate", ANYPLACE_STATUS_NO_SUCH_KERNEL,
        std::string("the module has no kernel \"") + name + "\"; compilers mangle names that aren't extern \"C\"");
  }
  device.check(result, "zeKernelCreate");
  check_made(native_, "zeKernelCreate");
  try {
    read_properties();
    // Buffers may contain addresses of other memory, which the driver doesn't see. So all memory is declared as
    // accessed.
    constexpr ze_kernel_indirect_access_flags_t all = ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST |
                                                      ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE |
                                                      ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED;
    device.check(api().KernelSetIndirectAccess(native_, all), "zeKernelSetIndirectAccess");
  } catch (...) {
    api().KernelDestroy(native_);
    throw;
  }
}

/// Level Zero doesn't tell how many registers a kernel uses, only how many bytes didn't fit into them.
void Kernel::attributes(anyplace_kernel_attributes& out) const {
  const std::uint32_t device_limit = std::max<std::uint32_t>(device_.facts().compute.maxTotalGroupSize, 1);
  const std::uint64_t required =
      std::uint64_t{properties_.requiredGroupSizeX} * properties_.requiredGroupSizeY * properties_.requiredGroupSizeZ;
  out.max_threads_per_block = required == 0 ? device_limit : static_cast<std::uint32_t>(required);
  out.registers = UINT32_MAX;
  out.sub_group_size = properties_.maxSubgroupSize == 0 ? UINT32_MAX : properties_.maxSubgroupSize;
  out.shared_bytes = properties_.localMemSize;
  out.local_bytes = std::uint64_t{properties_.privateMemSize} + properties_.spillMemSize;
  out.constant_bytes = ANYPLACE_UNKNOWN;
}

void Kernel::read_properties() {
  properties_.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES;
  device_.check(api().KernelGetProperties(native_, &properties_), "zeKernelGetProperties");
  if (shared_argument_ < 0 || static_cast<std::uint32_t>(shared_argument_) < properties_.numKernelArgs) return;
  refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
         "the module's metadata has argument " + std::to_string(shared_argument_) + " of kernel " + name_ +
             " as its dynamic shared memory; the kernel has " + std::to_string(properties_.numKernelArgs) +
             " arguments, the first is 0");
}

// ---- Checks of a launch --------------------------------------------------------------------------------------------

void Kernel::require_arguments(const anyplace_launch& launch) const {
  const std::uint32_t wanted = properties_.numKernelArgs - (shared_argument_ >= 0 ? 1u : 0u);
  if (launch.argument_count == wanted) [[likely]]
    return;
  std::string text = "kernel " + name_ + " has " + std::to_string(wanted) + " parameters";
  if (shared_argument_ >= 0) text += " beside its dynamic shared memory";
  text += ", and the launch has " + std::to_string(launch.argument_count) + " arguments";
  if (shared_argument_ < 0 && launch.argument_count + 1 == wanted) {
    text += "; if one of them is dynamic shared memory, the module's metadata has to say which";
  }
  refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, text);
}

void Kernel::require_block(const anyplace_launch& launch) const {
  const ze_kernel_properties_t& p = properties_;
  const std::uint32_t required[3] = {p.requiredGroupSizeX, p.requiredGroupSizeY, p.requiredGroupSizeZ};
  if (required[0] == 0 || std::equal(required, required + 3, launch.block)) [[likely]]
    return;
  refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "a block of " + triple(launch.block[0], launch.block[1], launch.block[2]) +
                                               " threads; kernel " + name_ + " was compiled for blocks of " +
                                               triple(required[0], required[1], required[2]));
}

void Kernel::require_shared(const anyplace_launch& launch) const {
  if (launch.shared_bytes == 0) [[likely]]
    return;
  if (shared_argument_ < 0) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
           std::to_string(launch.shared_bytes) +
               " bytes of dynamic shared memory; it is an "
               "argument of the kernel here, and the module's metadata doesn't say which one of " +
               name_ + "'s");
  }
  const std::uint64_t most = device_.facts().compute.maxSharedLocalMemory;
  const std::uint64_t left = most > properties_.localMemSize ? most - properties_.localMemSize : 0;
  if (launch.shared_bytes <= left) return;
  refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
         std::to_string(launch.shared_bytes) + " bytes of dynamic shared memory; a block of kernel " + name_ +
             " can have " + std::to_string(left) + ": the device has " + std::to_string(most) +
             ", and the kernel itself uses " + std::to_string(properties_.localMemSize));
}

// ---- Launching -----------------------------------------------------------------------------------------------------

void Kernel::set_arguments(const anyplace_launch& launch) {
  std::uint32_t index = 0;
  for (std::size_t i = 0; i < launch.argument_count; ++i, ++index) {
    if (static_cast<int>(index) == shared_argument_) ++index;
    const anyplace_argument& argument = backend::argument_at(launch, i);
    const ze_result_t result = api().KernelSetArgumentValue(native_, index, argument.size, argument.value);
    if (result == ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE) [[unlikely]] {
      Results::fail(result, "zeKernelSetArgumentValue", ANYPLACE_STATUS_INVALID_ARGUMENT,
                    "argument " + std::to_string(i) + " of kernel " + name_ + " has " + std::to_string(argument.size) +
                        " bytes; the kernel's parameter hasn't");
    }
    device_.check(result, "zeKernelSetArgumentValue");
  }
  if (shared_argument_ < 0) return;
  // Level Zero doesn't allow such an argument with 0 bytes.
  const std::size_t bytes = std::max<std::size_t>(launch.shared_bytes, 1);
  device_.check(api().KernelSetArgumentValue(native_, static_cast<std::uint32_t>(shared_argument_), bytes, nullptr),
                "zeKernelSetArgumentValue");
}

void Kernel::require_fits(const anyplace_launch& launch) const {
  require_arguments(launch);
  require_block(launch);
  require_shared(launch);
  device_.require();
}

void Kernel::prepare(const anyplace_launch& launch) {
  device_.check(api().KernelSetGroupSize(native_, launch.block[0], launch.block[1], launch.block[2]),
                "zeKernelSetGroupSize");
  set_arguments(launch);
}

void Kernel::launch(Stream& stream, const anyplace_launch& launch) {
  with_arguments(launch, [&](const ze_group_count_t& groups) {
    Submission(stream).append(
        "zeCommandListAppendLaunchKernel",
        [&](ze_command_list_handle_t list, ze_event_handle_t signal, std::uint32_t waits, ze_event_handle_t* before) {
          return api().CommandListAppendLaunchKernel(list, native_, &groups, signal, waits, before);
        });
  });
}

}  // namespace anyplace::levelzero
