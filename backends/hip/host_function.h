// SPDX-License-Identifier: Apache-2.0
//
// HostFunctions: the functions of the host that are queued in a device's streams. HIP runs them in their place, and
// not at all once the context failed; then the Watcher settles them.
//
// Invariant: each is called exactly once, by HIP or by the Watcher. Neither calls HIP from inside.
#pragma once

#include "anyplace/backend/kit/host_calls.h"
#include "driver.h"

namespace anyplace::hip {

class Device;
class Stream;

class HostFunctions {
 public:
  explicit HostFunctions(Device& device) noexcept : device_(device) {}
  HostFunctions(const HostFunctions&) = delete;  // what is queued points at it
  HostFunctions& operator=(const HostFunctions&) = delete;

  /// Whether the library has them.
  static bool are_supported() noexcept { return driver().LaunchHostFunc || driver().StreamAddCallback; }

  void launch(const Stream& stream, anyplace_host_function function, void* user);
  /// On the Watcher's thread. `ask`: the driver is asked too whether the device is lost.
  void settle_if_lost(bool ask) noexcept;
  bool any_pending() const noexcept { return calls_.any_pending(); }

 private:
  Device& device_;
  anyplace::backend::HostCalls calls_;
};

}  // namespace anyplace::hip
