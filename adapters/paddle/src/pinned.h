// SPDX-License-Identifier: Apache-2.0
//
// Host memory that Paddle got from the plug-in: pinned, so that a copy from or to it doesn't hold up the caller.
#pragma once

#include <cstdint>

#include <anyplace/device.h>

namespace anyplace_paddle {

/// Pinned memory for the devices of `device`'s backend. Throws as anyplace::HostBuffer does.
void* allocate_pinned(const anyplace::Device& device, std::uint64_t bytes);
/// Copies from and to it that are pending still complete. Throws std::invalid_argument for what allocate_pinned didn't
/// give.
void free_pinned(void* address);
/// Whether [address, address + bytes) is pinned for the devices of `device`'s backend, by whomever.
bool is_pinned(const anyplace::Device& device, const void* address, std::uint64_t bytes);

}  // namespace anyplace_paddle
