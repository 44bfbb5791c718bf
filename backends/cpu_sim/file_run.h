// SPDX-License-Identifier: Apache-2.0
//
// A FileRun is a stretch of the file behind mapped memory (backing_file.h), as another process maps it.
#pragma once

#include <cstdint>

namespace anyplace::cpu_sim {

struct FileRun {
  std::uint64_t offset;
  std::uint64_t bytes;
};

}  // namespace anyplace::cpu_sim
