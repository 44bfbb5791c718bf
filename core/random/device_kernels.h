// SPDX-License-Identifier: Apache-2.0
//
// The generators' kernels on a device. They are loaded at the device's first fill, and kept until its backend ends.
#pragma once

#include <cstdint>

#include "anyplace/kernel.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// Gives a kernel of kernels.cu. Loads them all if they aren't. Throws invalid_image for a device that takes none of
/// the images.
KernelView random_kernel(DeviceState& device, const char* name, const char* operation);

/// Says how many threads fill `groups` groups, which is what suits the device. The numbers don't depend on it.
LaunchConfig random_shape(DeviceState& device, std::uint64_t groups, const char* operation);

}  // namespace anyplace::detail
