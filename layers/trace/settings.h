// SPDX-License-Identifier: Apache-2.0
//
// What the variables of the layer say: the file, its size, and whether devices are timed.
#pragma once

#include <cstdint>
#include <string>

namespace anyplace::trace {

struct Settings {
  bool from_start = true;  ///< whether a trace begins with the first backend
  std::string file;        ///< where it goes, with %p for the number of the process, %r for the rank
  std::uint64_t limit = std::uint64_t{4} << 30;  ///< bytes of a file
  bool device_times = true;
};

/// Reads ANYPLACE_TRACE, ANYPLACE_TRACE_LIMIT and ANYPLACE_TRACE_DEVICE, which a process with raised privileges
/// ignores. Throws Failure (INVALID_ARGUMENT) for a value that is none.
Settings read_settings();

/// Which rank of a job the process is by its launcher's variables, as cpu_sim reads them
/// (docs/cpu_sim-deterministic.md#ranks); 0 without a launcher. `has_others` says whether the job has several.
std::uint32_t job_rank(bool& has_others);

/// The path with the process's number in the place of each %p, and its rank in that of each %r.
std::string path_of(const std::string& file);

}  // namespace anyplace::trace
