// SPDX-License-Identifier: Apache-2.0
// The kernels of reduce_add on a device: loaded at its first sum, and kept until its backend ends.
#pragma once

#include <cstdint>
#include <optional>

#include "anyplace/dtype.h"
#include "anyplace/kernel.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// The kernel of kernels.cu that adds elements of the type. Nothing where the device takes none of the images. Throws
/// what else goes wrong with loading them.
std::optional<KernelView> sum_kernel(DeviceState& device, DType dtype, const char* operation);

/// How many threads add `bytes` bytes of each input: what suits the device; the sums don't depend on it.
LaunchConfig sum_shape(DeviceState& device, std::uint64_t bytes, const char* operation);

}  // namespace anyplace::detail
