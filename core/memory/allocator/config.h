// SPDX-License-Identifier: Apache-2.0
//
// The configuration of the allocators, as text: keys, values, and what the environment says.
#pragma once

#include "anyplace/allocator.h"
#include "runtime/backend.h"

namespace anyplace::detail {

inline constexpr const char* allocator_variable = "ANYPLACE_ALLOCATOR";

/// The defaults with what ANYPLACE_ALLOCATOR says on top. Throws invalid_argument that names the variable.
AllocatorConfig environment_config(const DeviceState& device, const char* operation);

}  // namespace anyplace::detail
