// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include <anyplace/device.h>
#include <anyplace/stream.h>

#include "handle.h"

/// A device. Lives as long as the adapter.
struct ur_device_handle_t_ : anyplace_ur::HandleBase {
  ur_device_handle_t_(ur_platform_handle_t owner, const anyplace::Device& on);

  ur_device_type_t type() const noexcept;
  /// The adapter's own stream on the device, for allocations and for copies that a call waits for.
  anyplace::StreamView service();
  bool has(anyplace::Capability capability) const noexcept;

  const ur_platform_handle_t platform;
  const anyplace::Device device;
  const anyplace::DeviceProperties properties;

 private:
  std::mutex mutex_;
  anyplace::Stream service_;
};
