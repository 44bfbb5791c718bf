// SPDX-License-Identifier: Apache-2.0
// Runs Clang, whose messages are then about the source and the target that the caller gave.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugin.h"

namespace anyplace::compilers {

/// Gives a log the lines that Clang says, which it writes in pieces, with two things put right:
/// - It quotes its own copy of the source, where `__kernel__` is in place of `__global__` (kernel_source.h).
/// - It ends with "1 error generated when compiling for sm_70.", where sm_70 is what it compiles for instead of a newer
///   architecture, and with nothing there for SPIR-V: `target` is put in its place.
class ClangLog {
 public:
  ClangLog(const anyplace_compile_sink& to, const std::string& target) : to_(to), target_(target) {}

  void add(std::string_view piece) {
    for (std::size_t end; (end = piece.find('\n')) != piece.npos; piece.remove_prefix(end + 1)) {
      line_ += piece.substr(0, end + 1);
      give_line();
    }
    line_ += piece;
  }
  /// Gives a last line that has no end.
  void finish() { give_line(); }

 private:
  void give_line() {
    constexpr std::string_view ours = "__kernel__", theirs = "__global__",
                               before_target = " generated when compiling for ";
    for (std::size_t at = 0; (at = line_.find(ours, at)) != line_.npos;) line_.replace(at, ours.size(), theirs);
    if (const std::size_t at = line_.find(before_target); at != line_.npos) {
      line_.replace(at + before_target.size(), line_.npos, target_ + ".\n");
    }
    if (!line_.empty()) to_.log(to_.context, line_.data(), line_.size());
    line_.clear();
  }

  const anyplace_compile_sink& to_;
  const std::string& target_;
  std::string line_;
};

/// As compile_by_program.
inline anyplace_status run_clang(const std::vector<std::string>& words, const anyplace_compile_request& request,
                                 const anyplace_compile_sink& sink, const std::string& target) {
  ClangLog log(sink, target);
  anyplace_compile_sink lines = sink;
  lines.context = &log;
  lines.log = [](void* context, const char* text, std::uint64_t bytes) {
    static_cast<ClangLog*>(context)->add({text, bytes});
  };
  const anyplace_status status = compile_by_program(words, request, lines);  // which calls nothing but the log
  log.finish();
  return status;
}

}  // namespace anyplace::compilers
