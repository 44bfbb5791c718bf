// SPDX-License-Identifier: Apache-2.0
//
// The allocators' configuration as text: its keys and values, and the configuration that the environment gives.
#pragma once

#include "anyplace/allocator.h"
#include "runtime/backend.h"

namespace anyplace::detail {

inline constexpr const char* allocator_variable = "ANYPLACE_ALLOCATOR";

/// The defaults, overridden by ANYPLACE_ALLOCATOR. Throws invalid_argument that names the variable.
AllocatorConfig environment_config(const DeviceState& device, const char* operation);

}  // namespace anyplace::detail
