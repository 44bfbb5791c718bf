// SPDX-License-Identifier: Apache-2.0
//
// Reading a trace, of whichever kind the file is:
//   - the text form, a line an event: "a,ID,BYTES[,STREAM]" for an allocation and "f,ID,BYTES[,STREAM]" for its free.
//   An
//     id may be used again after its free. A free without a stream is of its allocation's;
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

/// "FILE:LINE: what was wrong; what would be right".
class TraceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a trace is called in what is shown: "standard input" for "-".
std::string trace_name(const std::string& path);

/// `device`: of a snapshot, whose history. Throws TraceError.
Trace read_trace(const std::string& path, std::optional<std::uint32_t> device, Progress& progress);

}  // namespace anyplace::tool
