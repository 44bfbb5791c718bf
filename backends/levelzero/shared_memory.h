// SPDX-License-Identifier: Apache-2.0
//
// SharedMemory: shares a device's memory between processes by Level Zero's own handles (zeMemGetIpcHandle). A handle
// stands for a whole allocation, so buffers of one segment have one handle.
//
// The specification leaves it to the application how a handle gets to the other process, and a handle may contain a
// file descriptor, which is valid only in its own process. By their sources, Intel's drivers have two kinds of handles.
// Some begin with such a descriptor; the other process fetches it (anyplace/backend/kit/descriptors.h) and puts its own
// number into the handle. Others name their process, and the driver fetches the descriptor itself; those are sent
// unchanged. Neither kind has been tried on a device yet.
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

  /// Whether the loader has the entries and the driver says that it shares memory.
  static bool is_supported(const DeviceBase& device) noexcept;

  // -- These implement the entries of the same names.
  void export_memory(anyplace_address address, anyplace_ipc_handle& out);
  void end_export(anyplace_address address);
  anyplace_address import_memory(const anyplace_ipc_handle& handle);
  void end_import(anyplace_address address);

  /// Releases everything that is left. Called when nothing is in use any more, before the memory is freed.
  void close(FirstFailure& failure) noexcept;

 private:
  struct Exported {
    ze_ipc_mem_handle_t handle{};
    backend::CarriedDescriptor descriptor;
    bool is_carried = false;
    int count = 0;  ///< how many buffers in the allocation are shared
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
  std::map<anyplace_address, Exported> exported_;  ///< by the allocation's first address
  std::map<anyplace_address, Imported> imported_;
};

}  // namespace anyplace::levelzero
