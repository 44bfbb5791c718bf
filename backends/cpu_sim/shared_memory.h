// SPDX-License-Identifier: Apache-2.0
//
// This is device memory for several processes. What can be shared lies in the file behind mapped memory
// (backing_file.h): the pages of virtual memory, and allocations of the kind SHAREABLE. A process that opens such
// memory maps the same stretches of that file, and then has them for as long as it likes: they outlive the process
// whose file it was.
#pragma once

#include <anyplace/backend/abi.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "address_space.h"
#include "file_run.h"

namespace anyplace::cpu_sim {

/// Writes what another process needs to map `runs`, one behind the other. `into` is how far the exported address
/// is from the first one's beginning. Throws Failure(UNSUPPORTED) if they are too many.
void export_runs(const std::vector<FileRun>& runs, std::uint64_t into, anyplace_ipc_handle& out);

/// ImportedMemory has the memory of other processes that is open in this one.
class ImportedMemory {
 public:
  explicit ImportedMemory(AddressSpace& addresses) noexcept : addresses_(addresses) {}
  ImportedMemory(const ImportedMemory&) = delete;
  ImportedMemory& operator=(const ImportedMemory&) = delete;
  ~ImportedMemory() = default;  // What is open stays until the process ends.

  /// Maps what another process exported, at an address that is a multiple of virtual memory's pages. Throws
  /// Failure(PEER_GONE), (INVALID_ARGUMENT) for bytes that lead nowhere, (OUT_OF_MEMORY).
  anyplace_address open(std::int32_t device, const anyplace_ipc_handle& handle);
  /// Throws Failure(INVALID_ARGUMENT) if nothing is open there.
  void close(anyplace_address address);

 private:
  AddressSpace& addresses_;
  std::mutex mutex_;                                 // Only the lock of AddressSpace is taken under it.
  std::map<anyplace_address, std::uint64_t> bytes_;  // mutex_ guards it; it has the sizes of what is open.
};

}  // namespace anyplace::cpu_sim
