// SPDX-License-Identifier: Apache-2.0
//
// What is current on the calling thread: a device of each backend, and a stream of each device. Belongs to the thread,
// so nothing here is shared and nothing is locked.
#pragma once

#include <cstdint>
#include <string>

#include "backend.h"

namespace anyplace::detail {

/// The calling thread's current device of the backend; device 0 until set. The backend has at least one device.
DeviceState& current_device_of(Backend& backend) noexcept;
/// Throws std::bad_alloc at the thread's first use of the backend, never later.
void set_current_device_of(DeviceState& device);

/// The id of the calling thread's current stream on the device; 0 stands for the null stream.
std::uint64_t current_stream_of(DeviceState& device) noexcept;
/// For the message about a stream that doesn't exist any more: "; it is still the current stream ...", or nothing.
std::string note_on_current(std::uint64_t id);
/// Throws std::bad_alloc at the thread's first use of the device, never later.
void set_current_stream_of(DeviceState& device, std::uint64_t stream_id);

/// The id of the calling thread's own blocking stream on the device, made at first use. Throws.
std::uint64_t per_thread_stream_of(DeviceState& device, const char* operation);

}  // namespace anyplace::detail
