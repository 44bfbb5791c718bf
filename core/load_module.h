// SPDX-License-Identifier: Apache-2.0
// Loading one image: what every way to make a Module comes down to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "anyplace/kernel.h"
#include "backend.h"

namespace anyplace::detail {

/// The new module's id. Throws what Module's constructor from bytes does.
std::uint64_t load_module(DeviceState& device, std::span<const std::byte> image, const ModuleOptions& options,
                          const char* operation);

}  // namespace anyplace::detail
