// SPDX-License-Identifier: Apache-2.0
//
// The test kernels, used through a backend's table: their image, and launches of its kernel `fill`.
#pragma once

#include <string>
#include <vector>

#include "table_backend.h"

namespace anyplace::conformance {

/// The image of the test kernels in the form that module_load takes.
class TableImage {
 public:
  explicit TableImage(const Run& run);

  std::uint32_t format() const noexcept { return format_; }
  /// Skips the case if a vendor's compiler compiles the image, which is slow and keeps memory.
  void need_no_compiler() const;
  std::string& bytes() noexcept { return bytes_; }
  const std::string& bytes() const noexcept { return bytes_; }
  /// Makes its `fill` another kernel of that name, which takes other arguments or writes another value. Skips the case
  /// if that isn't possible.
  void make_other();
  /// The description, which is valid as long as this object and its bytes are.
  anyplace_module_desc desc() const noexcept;

 private:
  std::uint32_t format_;
  std::string bytes_;
  anyplace_kernel_metadata metadata_{};
};

/// The arguments of `fill`, which sets `count` elements of `data` to `value`. They are `stride` bytes apart, and the
/// bytes between them look like wrong arguments.
class FillLaunch {
 public:
  FillLaunch(anyplace_address data, std::uint32_t count, std::uint32_t value,
             std::uint32_t stride = sizeof(anyplace_argument));
  FillLaunch(const FillLaunch&) = delete;  // the launch points into it
  FillLaunch& operator=(const FillLaunch&) = delete;

  anyplace_launch& launch() noexcept { return launch_; }
  anyplace_argument& argument(std::size_t index) noexcept;

 private:
  anyplace_address data_;
  std::uint32_t count_;
  std::uint32_t value_;
  std::vector<unsigned char> arguments_;
  anyplace_launch launch_{};
};

}  // namespace anyplace::conformance
