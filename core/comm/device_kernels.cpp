// SPDX-License-Identifier: Apache-2.0
#include "comm/device_kernels.h"

#include <algorithm>
#include <memory>

#include "anyplace_sum_kernels.h"  // made by anyplace_add_kernels
#include "comm/subsystem.h"
#include "kernels/doubles.h"
#include "kernels/own_module.h"
#include "plugins/device_properties.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"

namespace anyplace::detail {
namespace {

constinit NoDestructor<OwnModule> own_module;

const char* kernel_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::f16:
      return "add_f16";
    case DType::bf16:
      return "add_bf16";
    case DType::f32:
    case DType::c64:
      return "add_f32";
    case DType::f64:
    case DType::c128:
      return "add_f64";
    case DType::i8:
    case DType::u8:
      return "add_8";
    case DType::i16:
    case DType::u16:
      return "add_16";
    case DType::i32:
    case DType::u32:
      return "add_32";
    case DType::i64:
    case DType::u64:
      return "add_64";
    case DType::boolean:
      return "add_bool";
  }
  return "";
}

}  // namespace

std::optional<KernelView> sum_kernel(DeviceState& device, DType dtype, const char* operation) {
  const std::shared_ptr<const Module> module = own_module.value.on_if_taken(device, anyplace_sum_kernels, operation);
  if (!module) return std::nullopt;
  const bool doubles = dtype == DType::f64 || dtype == DType::c128;
  if (doubles && lacks_doubles(device, operation)) return std::nullopt;
  return module->kernel(kernel_of(dtype));
}

LaunchConfig sum_shape(DeviceState& device, std::uint64_t bytes, const char* operation) {
  const anyplace_device_properties& properties = properties_of(device, operation);
  const std::uint64_t most_blocks = std::max<std::uint64_t>(properties.max_grid[0], 1);
  if (has_capability(device, Capability::host_kernels, operation)) {
    // A block of one thread goes over a range by itself.
    constexpr std::uint64_t bytes_of_a_block = 512 << 10;
    const std::uint64_t blocks = bytes / bytes_of_a_block + 1;
    return {static_cast<std::uint32_t>(std::min(blocks, most_blocks)), 1};
  }
  constexpr std::uint64_t bytes_of_a_thread = 16;
  const std::uint64_t threads = std::clamp<std::uint64_t>(properties.max_threads_per_block, 1, 256);
  const std::uint64_t units = properties.compute_units == 0 ? 128 : properties.compute_units;
  const std::uint64_t blocks = bytes / (bytes_of_a_thread * threads) + 1;
  const std::uint64_t enough = std::min(units * 32, most_blocks);
  return {static_cast<std::uint32_t>(std::min(blocks, enough)), static_cast<std::uint32_t>(threads)};
}

constinit const Subsystem comm_subsystem{.end_unused = []() noexcept { own_module.value.end(); }};

}  // namespace anyplace::detail
