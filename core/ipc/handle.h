// SPDX-License-Identifier: Apache-2.0
//
// Handles for other processes: writing one, and reading one that may be of anywhere and anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ipc/handle_format.h"
#include "ipc/share_table.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// What a handle is about. A buffer's range is `bytes` from `offset` on in what the backend shares.
struct IpcContent {
  ShareAddress share;
  anyplace_ipc_handle backend{};
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Throws what asking for the device's properties throws.
std::vector<std::byte> write_handle(DeviceState& device, IpcKind kind, const IpcContent& content,
                                    const char* operation);

/// Throws invalid_argument for bytes that are no handle of that kind for that device from another process of this
/// machine, and says which of these isn't so.
IpcContent read_handle(DeviceState& device, IpcKind kind, std::span<const std::byte> handle, const char* operation);

}  // namespace anyplace::detail
