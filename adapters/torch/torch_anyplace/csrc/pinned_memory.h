// SPDX-License-Identifier: Apache-2.0
//
// Pinned host memory of tensors: anyplace's HostBuffers, of the current device's backend.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>

namespace anyplace_torch {

c10::Allocator* pinned_allocator();
/// Whether the address is in pinned memory: the allocator's, or any other that anyplace knows.
bool is_pinned(const void* address);
/// Whether it is pinned for that device, so that a copy between the two needn't wait. To the devices of another backend
/// pinned memory is ordinary memory.
bool is_pinned_for(const void* address, c10::DeviceIndex index);

}  // namespace anyplace_torch
