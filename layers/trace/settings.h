// SPDX-License-Identifier: Apache-2.0
//
// What the variables of the layer say: the file, its size, and whether devices are timed.
#pragma once

#include <cstdint>
#include <string>

namespace anyplace::trace {

struct Settings {
  bool from_start = true;                        ///< whether a trace begins with the first backend
  std::string file;                              ///< where it goes, with %p for the number of the process
  std::uint64_t limit = std::uint64_t{4} << 30;  ///< bytes of a file
  bool device_times = true;
};

/// Reads ANYPLACE_TRACE, ANYPLACE_TRACE_LIMIT and ANYPLACE_TRACE_DEVICE, which a process with raised privileges
/// ignores. Throws Failure (INVALID_ARGUMENT) for a value that is none.
Settings read_settings();

/// The path with the process's number in the place of each %p.
std::string path_of(const std::string& file);

}  // namespace anyplace::trace
