// SPDX-License-Identifier: Apache-2.0
//
// Text that a signal handler writes to standard error: it is formatted by hand, without allocating, and written at
// once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anyplace::cpu_sim {

class ReportText {
 public:
  /// What doesn't fit is left out.
  void add(const char* text) noexcept;
  void add(std::uint64_t number, unsigned base = 10) noexcept;
  void add_hex(std::uint64_t number) noexcept {
    add("0x");
    add(number, 16);
  }
  /// Ends the line and writes everything that was added since the last call.
  void write() noexcept;

 private:
  char text_[8192];
  std::size_t used_ = 0;
};

/// The calls that a thread was in, the innermost first.
struct StackTrace {
  static constexpr int most = 24;
  void* frames[most];
  int count = 0;
  std::uint64_t thread = 0;  ///< the system's number of the thread

  /// The first call in a process loads the unwinder, which a signal handler must not do.
  static StackTrace here() noexcept;
  /// Adds a line for each frame from `first` on: the file, and the nearest symbol that the file exports. The names are
  /// as the linker has them, since demangling allocates. Functions that libanyplace keeps to itself are left out.
  void add_to(ReportText& text, int first = 0) const noexcept;
  /// Returns the number of leading frames that are in this plugin.
  int own_frames() const noexcept;
};

}  // namespace anyplace::cpu_sim
