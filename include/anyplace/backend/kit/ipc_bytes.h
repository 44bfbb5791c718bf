// SPDX-License-Identifier: Apache-2.0
//
// Conversions between a vendor's handle for other processes, which is a plain struct, and the bytes of an
// anyplace_ipc_handle.
#pragma once

#include <cstring>
#include <type_traits>

#include "../abi.h"
#include "results.h"

namespace anyplace::backend {

/// Writes the handle's bytes into `out`, which the core adds to.
template <class Handle>
void write_ipc_bytes(const Handle& handle, anyplace_ipc_handle& out) noexcept {
  static_assert(std::is_trivially_copyable_v<Handle> && sizeof(Handle) <= ANYPLACE_IPC_BYTES);
  out.byte_count = sizeof(handle);
  std::memcpy(out.bytes, &handle, sizeof(handle));
}

/// Refuses bytes that aren't such a handle. `vendor` is the vendor's name in a sentence.
template <class Handle>
Handle read_ipc_bytes(const anyplace_ipc_handle& from, const char* vendor) {
  Handle handle{};
  if (from.byte_count != sizeof(handle)) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, std::string("the bytes are no handle of ") + vendor + "'s");
  }
  std::memcpy(&handle, from.bytes, sizeof(handle));
  return handle;
}

}  // namespace anyplace::backend
