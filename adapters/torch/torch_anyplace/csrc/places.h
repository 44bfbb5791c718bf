// SPDX-License-Identifier: Apache-2.0
//
// Places: which device of anyplace's torch.device("anyplace:N") is. ANYPLACE_TORCH_PLACES lists them; without it they
// are the devices of the backend that "auto" finds. They are looked for at first use and stay the same from then on.
#pragma once

#include <anyplace/device.h>
#include <anyplace/stream.h>
#include <c10/core/Device.h>

#include <string>
#include <vector>

namespace anyplace_torch {

/// A device and what is asked of it often.
struct DevicePlace {
  anyplace::Device device;
  anyplace::StreamView default_stream;
  bool has_copy_2d;
  bool has_pinned_memory;
};

/// All of them, by index. Throws c10::Error with the reason why there are none; the next call looks again.
const std::vector<DevicePlace>& places();
/// The one of that index, or of the calling thread's current device for -1. Throws c10::Error, naming those that there
/// are.
const DevicePlace& place(c10::DeviceIndex index);
/// 0 where they can't be had; why_none says why then. Never throws.
c10::DeviceIndex place_count() noexcept;
/// "" where there are some.
std::string why_none();

/// The calling thread's current device; 0 until set.
c10::DeviceIndex current_index() noexcept;
/// Sets it, without a check, and returns the one before.
c10::DeviceIndex exchange_index(c10::DeviceIndex index) noexcept;

}  // namespace anyplace_torch
