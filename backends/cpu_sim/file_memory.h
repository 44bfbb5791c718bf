// SPDX-License-Identifier: Apache-2.0
//
// FileMemory: an allocation that lies in the file behind mapped memory (backing_file.h), so that other processes can
// map it: what DeviceMemory makes of the kind SHAREABLE.
#pragma once

#include <anyplace/backend/abi.h>

#include <cstdint>

#include "file_run.h"

namespace anyplace::cpu_sim {

/// It owns nothing: the caller gives it back once.
struct FileMemory {
  anyplace_address address = 0;
  FileRun run{};  ///< It has whole pages of the system's.

  /// Throws Failure(UNSUPPORTED) where the process can't have the file, (OUT_OF_MEMORY).
  static FileMemory take(std::uint64_t bytes);
  void give_back() const noexcept;
};

}  // namespace anyplace::cpu_sim
