// SPDX-License-Identifier: Apache-2.0
//
// Ipc: sharing between processes by CUDA's own handles (cuIpc...). A handle stands for a whole allocation of
// cuMemAlloc. Memory of pools and virtual memory can't have one, so memory to be shared is allocated as
// ANYPLACE_MEMORY_SHAREABLE.
//
// CUDA doesn't report that the process at the other end has ended; the driver then decides whether its records
// complete.
#pragma once

#include <cstdint>

#include "event.h"

namespace anyplace::cuda {

/// The `Ipc` of anyplace/backend/kit/context_backend.h.
struct Ipc {
  /// Whether the driver has what export_event() and import_event() need.
  static bool has_events() noexcept;
  static bool has_memory() noexcept;

  static void export_memory(DeviceBase& device, anyplace_address address, anyplace_ipc_handle& out);
  static anyplace_address import_memory(DeviceBase& device, const anyplace_ipc_handle& handle);
  static void end_import(DeviceBase& device, anyplace_address address);
  static void export_event(Event& event, anyplace_ipc_handle& out);
  static Event* import_event(DeviceBase& device, const anyplace_ipc_handle& handle);
};

}  // namespace anyplace::cuda
