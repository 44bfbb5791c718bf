// SPDX-License-Identifier: Apache-2.0
//
// SharedMemory: a device's memory for several processes, by Level Zero's own handles (zeMemGetIpcHandle). They are of
// whole allocations, so buffers of one segment have one handle.
//
// The specification leaves it to the application how a handle gets to the other process, and a handle may hold a file
// descriptor, which means something in its own process only. Of Intel's drivers there are two kinds, by their sources:
// handles that begin with such a descriptor, which is carried by anyplace/backend/kit/descriptors.h and replaced by the
// other process's; and handles that name their process, whose descriptor the driver fetches itself, which are sent as
// they are. Neither was seen on a device.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "anyplace/backend/abi.h"
#include "anyplace/backend/kit/descriptor_server.h"
#include "driver.h"
#include "error.h"
#include "memory.h"

namespace anyplace::levelzero {

class DeviceBase;

class SharedMemory {
 public:
  SharedMemory(DeviceBase& device, Memory& memory) noexcept : device_(device), memory_(memory) {}
  SharedMemory(const SharedMemory&) = delete;  // one per device
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Whether the loader has the entries, and the driver says that it shares memory. Asked once.
  static bool is_supported(const DeviceBase& device) noexcept;

  // The boundary's entries.
  void export_memory(anyplace_address address, anyplace_ipc_handle& out);
  void end_export(anyplace_address address);
  anyplace_address import_memory(const anyplace_ipc_handle& handle);
  void end_import(anyplace_address address);

  /// Ends everything that is left. Called when nothing is in use any more, before the memory is freed.
  void close(FirstFailure& failure) noexcept;

 private:
  struct Exported {
    ze_ipc_mem_handle_t handle{};
    backend::CarriedDescriptor descriptor;
    bool is_carried = false;
    int count = 0;  ///< of the buffers in the allocation that are shared
  };
  struct Imported {
    backend::Descriptor descriptor;
    std::uint32_t inode = 0;
  };

  Exported get_handle(anyplace_address start);
  ze_result_t put_handle(const Exported& exported) noexcept;
  static void let_go(Imported& imported) noexcept;

  DeviceBase& device_;
  Memory& memory_;
  std::mutex mutex_;  // guards all below; Level Zero is called under it, and Memory's mutex taken
  std::map<anyplace_address, Exported> exported_;  ///< by the allocation's beginning
  std::map<anyplace_address, Imported> imported_;
};

}  // namespace anyplace::levelzero
