// SPDX-License-Identifier: Apache-2.0
// Finds the device of a Place: by index, by selector, as the current device, and for `auto`.
#pragma once

#include "anyplace/place.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// Finds the device of a place; loads its backend if need be. Throws as the constructor of Device does.
DeviceState& resolve(const Place& place, const char* operation);

}  // namespace anyplace::detail
