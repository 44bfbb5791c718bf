// SPDX-License-Identifier: Apache-2.0
//
// The lines that a logging_allocator hands to its sink, as a trace: WHAT,THREAD,STREAM,ADDRESS,BYTES, where WHAT is
// allocate, free, failed or refused (include/anyplace/allocator.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "trace.h"

namespace anyplace::tool {

class LogTrace {
 public:
  LogTrace();
  LogTrace(const LogTrace&) = delete;
  LogTrace& operator=(const LogTrace&) = delete;
  ~LogTrace();

  /// Whether a text begins as such a line does.
  static bool looks_like(std::string_view text) noexcept;

  /// The next line, which is the number-th. Throws InputError.
  void add(std::string_view line, std::uint64_t number);
  /// The line that the last InputError is of, if it isn't the last that was added; 0 if it is.
  std::uint64_t line_of_error() const noexcept;
  /// Throws InputError.
  Trace take();

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

}  // namespace anyplace::tool
