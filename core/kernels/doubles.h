// SPDX-License-Identifier: Apache-2.0
// Whether a device computes with 64-bit floating point, which many GPUs don't.
#pragma once

#include "plugins/device_properties.h"

namespace anyplace::detail {

/// Whether the backend says that the device has no such arithmetic.
inline bool lacks_doubles(DeviceState& device, const char* operation) {
  const anyplace_device_properties& properties = properties_of(device, operation);
  return (properties.features_known & ~properties.features & ANYPLACE_FEATURE_FLOAT64) != 0;
}

}  // namespace anyplace::detail
