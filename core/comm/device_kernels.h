// SPDX-License-Identifier: Apache-2.0
// The kernels of reduce_add on a device. They are loaded at its first sum, and kept until its backend ends.
#pragma once

#include <cstdint>
#include <optional>

#include "anyplace/dtype.h"
#include "anyplace/kernel.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// Gives the kernel of kernels.cu that adds elements of the type, or nothing where the device takes none of the images,
/// or computes no doubles and they are some. Throws if loading them fails otherwise.
std::optional<KernelView> sum_kernel(DeviceState& device, DType dtype, const char* operation);

/// Says how many threads add `bytes` bytes of each input, which is what suits the device. The sums don't depend on it.
LaunchConfig sum_shape(DeviceState& device, std::uint64_t bytes, const char* operation);

}  // namespace anyplace::detail
