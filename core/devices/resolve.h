// SPDX-License-Identifier: Apache-2.0
// From a Place to a device: the index, the selectors, the current device, and `auto`.
#pragma once

#include "anyplace/place.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// Finds the device of a place; loads its backend if need be. Throws as the constructor of Device does.
DeviceState& resolve(const Place& place, const char* operation);

}  // namespace anyplace::detail
