// SPDX-License-Identifier: Apache-2.0
// Guards: switch the calling thread's current device or stream for a scope, and restore what was there, also when an
// exception passes. A guard lives and dies on one thread.
#ifndef ANYPLACE_GUARD_H
#define ANYPLACE_GUARD_H

#include "device.h"
#include "export.h"
#include "stream.h"

namespace anyplace {

/// Switches the current device of one backend.
class ANYPLACE_API DeviceGuard {
 public:
  explicit DeviceGuard(const Device& device);
  DeviceGuard(const DeviceGuard&) = delete;  // bound to its scope
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  ~DeviceGuard();

 private:
  Device previous_;
};

/// Switches the current device to the stream's, and the current stream of that device to the stream.
class ANYPLACE_API StreamGuard {
 public:
  explicit StreamGuard(StreamView stream);
  StreamGuard(const StreamGuard&) = delete;  // bound to its scope
  StreamGuard& operator=(const StreamGuard&) = delete;
  ~StreamGuard();

 private:
  DeviceGuard device_guard_;
  Device device_;
  StreamView previous_;  // null: the device's null stream
};

}  // namespace anyplace

#endif  // ANYPLACE_GUARD_H
