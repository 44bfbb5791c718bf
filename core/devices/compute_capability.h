// SPDX-License-Identifier: Apache-2.0
// The numbers in the name of an architecture.
#pragma once

#include <optional>
#include <string_view>

#include "anyplace/device.h"

namespace anyplace::detail {

/// The numbers of "sm_90", "sm_103a", "gfx90a", "gfx1030:xnack-"; empty for other names.
std::optional<ComputeCapability> compute_capability_of(std::string_view architecture) noexcept;

}  // namespace anyplace::detail
