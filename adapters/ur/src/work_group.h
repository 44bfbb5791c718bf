// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "device.h"

namespace anyplace_ur {

using WorkSize = std::array<std::size_t, 3>;

/// The first `dimensions` numbers; the others are 1. Throws for other than 1 to 3 dimensions.
WorkSize work_size(std::uint32_t dimensions, const std::size_t* numbers);
/// A size of work groups that divides `global`: as large as the device allows, but no more than 256 threads, which
/// leave a device room for several groups at once.
WorkSize suggested_local(const ur_device_handle_t_& device, const WorkSize& global);

}  // namespace anyplace_ur
