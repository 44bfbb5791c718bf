// SPDX-License-Identifier: Apache-2.0
#include "random/device_kernels.h"

#include <algorithm>
#include <string_view>

#include "anyplace_random_kernels.h"  // made by anyplace_add_kernels
#include "kernels/doubles.h"
#include "kernels/own_module.h"
#include "plugins/device_properties.h"
#include "random/subsystem.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"

namespace anyplace::detail {
namespace {

constinit NoDestructor<OwnModule> own_module;

}  // namespace

KernelView random_kernel(DeviceState& device, const char* name, const char* operation) {
  // Such a device has got an image without these kernels.
  if (std::string_view(name).ends_with("_f64") && lacks_doubles(device, operation)) {
    fail(ErrorCode::unsupported, device.place, operation,
         "this device computes no doubles\nother dtypes can be filled");
  }
  return own_module.value.on(device, anyplace_random_kernels, operation)->kernel(name);
}

LaunchConfig random_shape(DeviceState& device, std::uint64_t groups, const char* operation) {
  const anyplace_device_properties& properties = properties_of(device, operation);
  const std::uint64_t most_blocks = std::max<std::uint64_t>(properties.max_grid[0], 1);
  if (has_capability(device, Capability::host_kernels, operation)) {
    // A thread goes over many groups by itself. With fewer blocks than this, processors would have nothing to do.
    constexpr std::uint64_t groups_of_a_block = 512;
    const std::uint64_t blocks = (groups + groups_of_a_block - 1) / groups_of_a_block;
    return {static_cast<std::uint32_t>(std::clamp<std::uint64_t>(blocks, 1, most_blocks)), 1};
  }
  constexpr std::uint64_t counters_of_a_group = 16;
  const std::uint64_t threads = std::clamp<std::uint64_t>(properties.max_threads_per_block, 1, 256);
  const std::uint64_t units = properties.compute_units == 0 ? 128 : properties.compute_units;
  const std::uint64_t counters = groups > UINT64_MAX / counters_of_a_group ? UINT64_MAX : groups * counters_of_a_group;
  const std::uint64_t blocks = counters / threads + (counters % threads != 0 ? 1 : 0);
  const std::uint64_t enough = std::min(units * 32, most_blocks);
  return {static_cast<std::uint32_t>(std::clamp<std::uint64_t>(blocks, 1, enough)),
          static_cast<std::uint32_t>(threads)};
}

constinit const Subsystem random_subsystem{.end_unused = []() noexcept { own_module.value.end(); }};

}  // namespace anyplace::detail
