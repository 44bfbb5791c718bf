// SPDX-License-Identifier: Apache-2.0
//
// The generators' kernels on a device: loaded at the device's first fill, and kept until its backend ends.
#pragma once

#include <cstdint>

#include "anyplace/kernel.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// A kernel of kernels.cu. Loads them if need be. Throws invalid_image for a device that takes none of the images.
KernelView random_kernel(DeviceState& device, const char* name, const char* operation);

/// How many threads fill `groups` groups: what suits the device, which the numbers don't depend on.
LaunchConfig random_shape(DeviceState& device, std::uint64_t groups, const char* operation);

}  // namespace anyplace::detail
