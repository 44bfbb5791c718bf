// SPDX-License-Identifier: Apache-2.0
//
// The text form of a trace: a line an event, "a,ID,BYTES[,STREAM]" for an allocation and "f,ID,BYTES[,STREAM]" for its
// free. An id may be used again after its free. A free without a stream is of its allocation's.
#pragma once

#include <stdexcept>
#include <string>

#include "trace.h"

namespace anyplace::tool {

/// "FILE:LINE: what was wrong; what would be right".
class TraceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws TraceError.
Trace read_trace(const std::string& path);

}  // namespace anyplace::tool
