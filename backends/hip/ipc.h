// SPDX-License-Identifier: Apache-2.0
//
// Ipc: sharing between processes by HIP's own handles (hipIpc...). They are of whole allocations of hipMalloc: memory
// of pools and of virtual memory has none, so what is to be shared is allocated for it (ANYPLACE_MEMORY_SHAREABLE).
//
// HIP doesn't tell that the process at the other end has ended: what it recorded then counts as the driver says.
#pragma once

#include <cstdint>

#include "event.h"

namespace anyplace::hip {

/// As anyplace/backend/kit/class_backend.h asks for it.
struct Ipc {
  /// Whether the driver has what the others need.
  static bool has_events() noexcept;
  static bool has_memory() noexcept;

  static void export_memory(DeviceBase& device, anyplace_address address, anyplace_ipc_handle& out);
  static anyplace_address import_memory(DeviceBase& device, const anyplace_ipc_handle& handle);
  static void end_import(DeviceBase& device, anyplace_address address);
  static void export_event(Event& event, anyplace_ipc_handle& out);
  static Event* import_event(DeviceBase& device, const anyplace_ipc_handle& handle);
};

}  // namespace anyplace::hip
