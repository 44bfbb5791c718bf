// SPDX-License-Identifier: Apache-2.0
//
// Handles for other processes: writing one, and reading one, whose bytes may be anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ipc/handle_format.h"
#include "ipc/share_table.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// The contents of a handle. A buffer's range is the `bytes` from `offset` on in the memory that the backend shares.
struct IpcContent {
  ShareAddress share;
  anyplace_ipc_handle backend{};
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Writes a handle. Throws what asking for the device's properties throws.
std::vector<std::byte> write_handle(DeviceState& device, IpcKind kind, const IpcContent& content,
                                    const char* operation);

/// Reads a handle. Throws invalid_argument, which says what is wrong, for bytes that are no handle of that kind, or are
/// of another device or machine, or of this process.
IpcContent read_handle(DeviceState& device, IpcKind kind, std::span<const std::byte> handle, const char* operation);

}  // namespace anyplace::detail
