// SPDX-License-Identifier: Apache-2.0
//
// JitOptions: the options of the driver's compiler, and the buffers for its log.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "driver.h"

namespace anyplace::cuda {

class JitOptions {
 public:
  /// `text` contains options as ptxas spells them, separated by blanks; null for none. Throws INVALID_ARGUMENT for an
  /// option that the driver's compiler lacks, and names those it has.
  explicit JitOptions(const char* text);
  JitOptions(const JitOptions&) = delete;  // the driver's table points into it
  JitOptions& operator=(const JitOptions&) = delete;

  unsigned count() const noexcept { return count_; }
  CUjit_option* options() noexcept { return options_.data(); }
  void** values() noexcept { return values_.data(); }
  /// The compiler's log, errors first; "" if it wrote none.
  std::string log() const;

 private:
  static constexpr std::size_t log_bytes = 16 * 1024;
  static constexpr std::size_t max_options = 16;

  void add(CUjit_option option, void* value);
  void add(CUjit_option option, std::size_t value);
  void add_text(std::string_view option);

  std::array<CUjit_option, max_options> options_{};
  std::array<void*, max_options> values_{};
  unsigned count_ = 0;
  std::array<char, log_bytes> errors_{};
  std::array<char, log_bytes> infos_{};
};

}  // namespace anyplace::cuda
