// SPDX-License-Identifier: Apache-2.0
// Guards: switch the calling thread's current device or stream for a scope, and restore the former one, also when an
// exception passes. A guard lives and dies on one thread. A guard of std::nullopt leaves everything as it is, so that
// code that may have a device to switch to needs no second branch.
#pragma once

#include <optional>

#include "device.h"
#include "export.h"
#include "stream.h"

namespace anyplace {

/// Switches the current device of one backend.
class ANYPLACE_API DeviceGuard {
 public:
  /// Makes `device` the calling thread's current one of its backend until the scope ends. Throws as set_current_device.
  [[nodiscard]] explicit DeviceGuard(const std::optional<Device>& device);
  DeviceGuard(const DeviceGuard&) = delete;  // bound to its scope
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  ~DeviceGuard();

 private:
  std::optional<Device> previous_;
};

/// Switches the current device to the stream's, and the current stream of that device to the stream.
class ANYPLACE_API StreamGuard {
 public:
  /// Makes `stream` the calling thread's current one until the scope ends. Throws as set_current_stream.
  [[nodiscard]] explicit StreamGuard(const std::optional<StreamView>& stream);
  StreamGuard(const StreamGuard&) = delete;  // bound to its scope
  StreamGuard& operator=(const StreamGuard&) = delete;
  ~StreamGuard();

 private:
  DeviceGuard device_guard_;
  std::optional<Device> device_;
  StreamView previous_;  ///< null: the device's null stream
};

}  // namespace anyplace
