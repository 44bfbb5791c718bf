// SPDX-License-Identifier: Apache-2.0
//
// The allocators of a device: its caching one, its raw one, and the one that an application set in their place; and how
// the core calls an allocator that isn't its own.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "anyplace/allocator.h"
#include "anyplace/stream.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// Each allocator aligns what it gives to at least so many bytes. CUDA's and HIP's own allocations have it.
inline constexpr std::uint64_t least_alignment = 256;

/// What a DeviceState points to: made with the device, never destroyed. Calls no entry of the backend.
struct DeviceAllocators {
  explicit DeviceAllocators(DeviceState& device);

  const std::shared_ptr<Allocator> caching;
  const std::shared_ptr<Allocator> raw;

  std::mutex mutex;                   // guards custom and its agreement with DeviceState::has_custom_allocator; a leaf
  std::shared_ptr<Allocator> custom;  ///< null for the default
};
DeviceAllocators* make_device_allocators(DeviceState& device);

std::shared_ptr<Allocator> make_raw_allocator(DeviceState& device);

/// The device's default allocator, which depends on whether caching is off. Throws invalid_argument for a wrong
/// ANYPLACE_ALLOCATOR.
const std::shared_ptr<Allocator>& default_allocator(DeviceState& device);

std::shared_ptr<Allocator> custom_allocator_in_place(DeviceState& device) noexcept;
/// The allocator that Buffers use in place of the default; null for the default, which costs one load.
inline std::shared_ptr<Allocator> custom_allocator(DeviceState& device) noexcept {
  if (!device.has_custom_allocator.load(std::memory_order_relaxed)) [[likely]]
    return nullptr;
  return custom_allocator_in_place(device);
}

/// Calls an allocator of the user's; no lock is held. Its exceptions pass. Throws backend_failed, with the allocator's
/// name, for an address that is 0 or not aligned.
anyplace_address allocate_from(Allocator& allocator, const StreamView& stream, std::uint64_t bytes, DeviceState& device,
                               const char* operation);
/// Gives memory back to an allocator of the user's. Its exceptions go to the error handler.
void give_to(Allocator& allocator, const StreamView& stream, anyplace_address address, std::uint64_t bytes,
             DeviceState& device) noexcept;

}  // namespace anyplace::detail
