// SPDX-License-Identifier: Apache-2.0
// A device's properties and capabilities.
#pragma once

#include "anyplace/device.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// The device's properties. The backend is asked for them once. Throws the backend's error.
const anyplace_device_properties& properties_of(DeviceState& device, const char* operation);

/// Whether the device has the capability. Its entries are in the table: properties_of() checks that. A few instructions
/// once the properties were asked for.
[[gnu::always_inline]] inline bool has_capability(DeviceState& device, Capability capability, const char* operation) {
  const bool known = device.properties_known.load(std::memory_order_acquire);
  const anyplace_device_properties& properties = known ? device.properties : properties_of(device, operation);
  return (properties.capabilities >> static_cast<std::uint32_t>(capability) & 1) != 0;
}

/// Whether the device's operations take virtual time. Then nothing that a program can observe may depend on how fast
/// the core is.
inline bool is_in_virtual_time(DeviceState& device, const char* operation) {
  return (properties_of(device, operation).features & ANYPLACE_FEATURE_VIRTUAL_TIME) != 0;
}

/// Throws unsupported, naming the capability and the place.
[[noreturn]] void refuse_capability(const DeviceState& device, Capability capability, const char* operation);

/// Throws unsupported unless the device has it.
inline void require_capability(DeviceState& device, Capability capability, const char* operation) {
  if (!has_capability(device, capability, operation)) [[unlikely]]
    refuse_capability(device, capability, operation);
}

}  // namespace anyplace::detail
