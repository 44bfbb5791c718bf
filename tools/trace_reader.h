// SPDX-License-Identifier: Apache-2.0
//
// Reads a trace in one of these forms, whatever the file's name:
//   - the text form, one line for each event: "a,ID,BYTES[,STREAM]" for an allocation and "f,ID,BYTES[,STREAM]" for its
//     free. An id may be used again after its free. A free without a stream has its allocation's;
//   - the lines of a logging_allocator (log_trace.h);
//   - a pickled memory snapshot (snapshot_trace.h).
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "progress.h"
#include "trace.h"

namespace anyplace::tool {

/// The text is "FILE:LINE: what was wrong; what would be right".
class TraceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The name of a trace for people: "standard input" for "-".
std::string trace_name(const std::string& path);

/// Reads the trace. `device` chooses the history of a device in a snapshot. Throws TraceError.
Trace read_trace(const std::string& path, std::optional<std::uint32_t> device, Progress& progress);

}  // namespace anyplace::tool
