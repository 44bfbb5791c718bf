// SPDX-License-Identifier: Apache-2.0
//
// The current device of each backend and the current stream of each device, for the calling thread. This state belongs
// to the thread alone, so it needs no lock.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/backend.h"

namespace anyplace::detail {

/// The calling thread's current device of the backend: device 0 until it is set. The backend has at least one device.
DeviceState& current_device_of(Backend& backend) noexcept;
/// Throws std::bad_alloc at the thread's first use of the backend, never later.
void set_current_device_of(DeviceState& device);

/// The id of the calling thread's current stream on the device; 0 stands for the null stream.
std::uint64_t current_stream_of(DeviceState& device) noexcept;
/// Throws std::bad_alloc at the thread's first use of the device, never later.
void set_current_stream_of(DeviceState& device, std::uint64_t stream_id);

/// The id of the calling thread's own blocking stream on the device. It is made at the first use. Throws.
std::uint64_t per_thread_stream_of(DeviceState& device, const char* operation);

}  // namespace anyplace::detail
