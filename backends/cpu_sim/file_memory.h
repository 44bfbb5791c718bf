// SPDX-License-Identifier: Apache-2.0
//
// FileMemory: an allocation that lies in the file behind mapped memory (backing_file.h), so that other processes can
// map it: what DeviceMemory makes of the kind SHAREABLE.
#pragma once

#include <anyplace/backend/abi.h>

#include <cstdint>

#include "file_run.h"

namespace anyplace::cpu_sim {

/// Owns nothing: it is given back once.
struct FileMemory {
  anyplace_address address = 0;
  FileRun run{};  ///< whole pages of the system's

  /// Throws Failure(UNSUPPORTED) where the process can't have the file, (OUT_OF_MEMORY).
  static FileMemory take(std::uint64_t bytes);
  void give_back() const noexcept;
};

/// Addresses without memory, from a multiple of `alignment` on; 0 if there are none: errno.
anyplace_address take_addresses(std::uint64_t bytes, std::uint64_t alignment) noexcept;

}  // namespace anyplace::cpu_sim
