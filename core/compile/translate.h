// SPDX-License-Identifier: Apache-2.0
// An image in SPIR-V for a device that takes shared objects and no SPIR-V: a compiler makes the one of the other.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "runtime/backend.h"

namespace anyplace::detail {

/// Subsystem::translate_spirv.
std::string translate_spirv(DeviceState& device, std::span<const std::byte> image, const char* operation);

}  // namespace anyplace::detail
