// SPDX-License-Identifier: Apache-2.0
//
// Makes a trace of the lines that a logging_allocator passes to its sink: WHAT,THREAD,STREAM,ADDRESS,BYTES, where WHAT
// is allocate, free, failed or refused (include/anyplace/allocator.h).
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

  /// Adds a line, with its number in the file. Throws InputError.
  void add(std::string_view line, std::uint64_t number);
  /// The number of the line that the last InputError is about, if that isn't the line that was added last; else 0.
  std::uint64_t line_of_error() const noexcept;
  /// The trace of all lines. Throws InputError.
  Trace take();

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

}  // namespace anyplace::tool
